import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import { openStore } from '../../src/index.ts'
import { toAgentRow } from '../support/agent-rows.ts'
import { readGolden } from '../support/golden-cases.ts'
import { tempFolder } from '../support/temp-store.ts'

interface Exports {
  get_session: Record<string, object | null>
}

interface Counts {
  message_count: Record<string, number>
}

test('every recorded file is read by a test', () => {
  const recordings = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.json'))
  const tests = sourcesOfTests()

  for (const recording of recordings) {
    const mention = `'${recording.slice(0, -'.json'.length)}'`
    assert.ok(
      tests.some((source) => source.includes('readGolden(') && source.includes(mention)),
      recording,
    )
  }
  assert.ok(recordings.length > 0)
})

test('every recorded scenario is replayed by a test', () => {
  const tests = sourcesOfTests()

  for (const { name } of readGolden('scenarios') as { name: string }[]) {
    const mention = new RegExp(String.raw`['\s]${name.replaceAll(/[/\\]/g, '\\$&')}['\s:]`)
    assert.ok(
      tests.some((source) => source.includes("readGolden('scenarios')") && mention.test(source)),
      name,
    )
  }
})

test('finds the recorded sessions and counts their messages as the agent did', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(new URL('main.db', import.meta.url), file)
  await using store = await openStore({ path: file })

  for (const [id, expected] of Object.entries((readGolden('export') as Exports).get_session)) {
    const session = await store.sessions.find(id)
    assert.deepEqual(session ? toAgentRow(session) : null, expected, id)
  }
  for (const [id, count] of Object.entries((readGolden('walks') as Counts).message_count)) {
    assert.equal(await (id === 'None' ? store.messages.count() : store.messages.count(id)), count)
  }
})

function sourcesOfTests(): string[] {
  const root = path.join(import.meta.dirname, '..')
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && path.join(root, name) !== import.meta.filename)
    .map((name) => readFileSync(path.join(root, name), 'utf8'))
}

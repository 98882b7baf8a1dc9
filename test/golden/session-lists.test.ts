import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import path from 'node:path'
import test, { type TestContext } from 'node:test'

import { openStore, type Store } from '../../src/index.ts'
import { toAgentRow, toOurNames } from '../support/agent-rows.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'
import { tempFolder } from '../support/temp-store.ts'

interface RecordedList {
  kwargs: Record<string, unknown>
  result: object[]
}

test('lists what the agent listed, in its order', async (t) => {
  await using store = await openRecorded(t)
  const recorded = readGolden('list_sessions_rich') as RecordedList[]
  const answers = new Map<RecordedList, object[]>()
  for (const list of recorded) {
    const options = { ...toOurNames(list.kwargs), includeSystemPrompt: true }
    answers.set(list, (await store.sessions.list(options)).map(toAgentRow))
  }

  assertGolden(recorded, nameOf, (list) => assert.deepEqual(answers.get(list), list.result))
})

test('gives the sessions the agent found recent, but for their prompts', async (t) => {
  await using store = await openRecorded(t)
  const recorded = readGolden('search_sessions') as RecordedList[]
  const answers = new Map<RecordedList, object[]>()
  for (const list of recorded) {
    answers.set(list, (await store.sessions.recent(toOurNames(list.kwargs))).map(toAgentRow))
  }

  assertGolden(recorded, nameOf, (list) => {
    assert.deepEqual(answers.get(list), list.result.map(withoutPrompt))
  })
})

test('leaves the prompts out of a list unless they are asked for', async (t) => {
  await using store = await openRecorded(t)

  const plain = await store.sessions.list({ limit: -1, includeChildren: true })
  const full = await store.sessions.list({
    limit: -1,
    includeChildren: true,
    includeSystemPrompt: true,
  })

  assert.deepEqual(plain.map(toAgentRow), full.map(toAgentRow).map(withoutPrompt))
  assert.ok(full.some((entry) => entry.systemPrompt === 'sys 你好'))
})

async function openRecorded(t: TestContext): Promise<Store> {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(new URL('main.db', import.meta.url), file)
  return openStore({ path: file })
}

function nameOf({ kwargs }: RecordedList): string {
  return JSON.stringify(kwargs)
}

function withoutPrompt(row: object): object {
  const { system_prompt: _, ...rest } = row as Record<string, unknown>
  return rest
}

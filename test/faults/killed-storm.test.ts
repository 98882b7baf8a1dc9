import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { openStore, type Store } from '../../src/index.ts'
import { startNode } from '../support/child.ts'
import { jsonLines } from '../support/python.ts'
import type { StormLine } from '../support/storm-child.ts'
import { tempFolder } from '../support/temp-store.ts'

const storm = path.join(import.meta.dirname, '../support/storm-child.ts')

/** The last line may have been cut off by the kill. */
function linesOf(stdout: string): StormLine[] {
  return jsonLines<StormLine>(stdout.slice(0, stdout.lastIndexOf('\n') + 1))
}

async function contentsOf(store: Store, session: string): Promise<unknown[]> {
  return (await store.messages.list(session)).map(({ content }) => content)
}

test('a write storm killed at random points loses and doubles nothing acknowledged', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  for (let round = 0; round < 4; round += 1) {
    const session = `round-${round}`
    await using running = startNode(storm, [file, session, '32'])
    await running.waitForOutput('"ready"')
    await running.waitForOutput('"stored"')
    await sleep(Math.random() * 300)
    await running.kill('SIGKILL')
    const acknowledged = linesOf(running.stdout).flatMap(({ stored }) => stored ?? [])

    await using store = await openStore({ path: file })

    const stored = await contentsOf(store, session)
    const unique = new Set(stored)
    assert.ok(acknowledged.length > 0)
    assert.deepEqual(
      acknowledged.filter((content) => !unique.has(content)),
      [],
    )
    assert.equal(unique.size, stored.length)
    assert.equal((await store.sessions.get(session)).messageCount, stored.length)
    assert.deepEqual(await store.maintenance.check(), [])
  }
})

test('SIGTERM in a storm: each write is acknowledged and stored, or rejected and not', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using running = startNode(storm, [file, 'storm', '64'])
  await running.waitForOutput('"stored"')

  const { code } = await running.kill('SIGTERM')

  const lines = linesOf(running.stdout)
  await using store = await openStore({ path: file })
  const acknowledged = lines.flatMap(({ stored }) => stored ?? [])
  assert.equal(code, 0, running.stderr)
  assert.match(running.stdout, /"closed"/)
  assert.deepEqual(new Set(await contentsOf(store, 'storm')), new Set(acknowledged))
  assert.equal(await store.messages.count('storm'), acknowledged.length)
  for (const { rejected, code: why } of lines) if (rejected) assert.equal(why, 'STORE_CLOSED')
  assert.deepEqual(await store.maintenance.check(), [])
})

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { ChatState } from '../../src/gateway-adapter/chat-state.ts'
import { openStore } from '../../src/index.ts'
import { startNode } from '../support/child.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'
import { stopClock } from './faces.ts'

const child = path.join(import.meta.dirname, 'lock-child.ts')

test('a lock that has expired is somebody else’s: its old holder can neither extend nor release it', async (t) => {
  const clock = stopClock(t)
  const store = await openTempStore(t)
  const state = new ChatState(store, { namespace: 'chat' })
  const other = new ChatState(store, { namespace: 'chat' })
  const first = await state.acquireLock('t', 100)
  assert.ok(first)

  clock.forward(100)
  const second = await other.acquireLock('t', 100)
  assert.ok(second)
  await state.releaseLock(first)

  assert.equal(await state.extendLock(first, 1000), false)
  assert.equal(await state.acquireLock('t', 100), null)
  assert.equal(await other.extendLock(second, 1000), true)
  clock.forward(999)
  assert.equal(await state.acquireLock('t', 100), null)
})

test('two processes that count under one lock lose no count', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await (await openStore({ path: file })).close()
  const rounds = 25

  const children = [startNode(child, [file, `${rounds}`]), startNode(child, [file, `${rounds}`])]
  const exits = await Promise.all(children.map((process) => process.exited))

  await using store = await openStore({ path: file })
  const count = await new ChatState(store, { namespace: 'chat' }).get('count')
  assert.deepEqual(
    exits.map(({ code }, index) => [code, children[index]?.stderr]),
    [
      [0, ''],
      [0, ''],
    ],
  )
  assert.equal(count, 2 * rounds)
})

test('the lock of a killed process is free when it has expired, and not before', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await (await openStore({ path: file })).close()
  await using holder = startNode(child, [file, '60000', 'hold'])
  const { expiresAt } = JSON.parse(await holder.waitForOutput(/\{.*\}/)) as { expiresAt: number }
  await holder.kill('SIGKILL')
  await using store = await openStore({ path: file })
  const state = new ChatState(store, { namespace: 'chat' })

  const before = await state.acquireLock('thread', 1000)
  // The store's own clock reading comes a moment after the one that the lock tells.
  t.mock.timers.enable({ apis: ['Date'], now: expiresAt + 100 })
  const after = await state.acquireLock('thread', 1000)

  assert.equal(before, null)
  assert.ok(after)
})

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { Message, type QueueEntry } from 'chat'

import { ChatState } from '../../src/gateway-adapter/chat-state.ts'
import { InvalidInputError, openStore } from '../../src/index.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'
import { stopClock } from './faces.ts'

function entryOf(id: string, expiresAt = Date.now() + 60_000): QueueEntry {
  const message = new Message({
    id,
    threadId: 'slack:C1:1',
    text: `text of ${id}`,
    formatted: { type: 'root', children: [] },
    raw: { at: new Date(0), send: () => 1 },
    author: { userId: 'u', userName: 'u', fullName: 'U', isBot: false, isMe: false },
    metadata: { dateSent: new Date(0), edited: false },
    attachments: [{ type: 'image', fetchData: async () => Buffer.from('x') }],
  })
  return { message, enqueuedAt: Date.now(), expiresAt }
}

test('values, locks, lists, queues and subscriptions of one name are five things', async (t) => {
  const state = new ChatState(await openTempStore(t), { namespace: 'chat' })
  await state.set('same', 'value')
  await state.appendToList('same', 'item')
  await state.subscribe('same')
  await state.acquireLock('same', 1000)
  await state.enqueue('same', entryOf('m1'), 10)

  await state.unsubscribe('same')
  await state.forceReleaseLock('same')

  assert.equal(await state.get('same'), 'value')
  assert.deepEqual(await state.getList('same'), ['item'])
  assert.equal(await state.queueDepth('same'), 1)
  await state.delete('same')
  assert.equal(await state.get('same'), null)
  assert.deepEqual(await state.getList('same'), [])
  assert.equal(await state.queueDepth('same'), 1)
})

test('everything but what has expired is there when the file is opened anew', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  {
    await using store = await openStore({ path: file })
    const state = new ChatState(store, { namespace: 'chat' })
    await state.connect()
    await state.subscribe('t')
    await state.appendToList('l', { n: 1 })
    await state.enqueue('t', entryOf('m1'), 10)
    assert.ok(await state.acquireLock('t', 60_000))
    await state.disconnect()
  }
  await using store = await openStore({ path: file })
  const state = new ChatState(store, { namespace: 'chat' })
  await state.connect()

  assert.equal(await state.isSubscribed('t'), true)
  assert.deepEqual(await state.getList('l'), [{ n: 1 }])
  assert.equal(await state.acquireLock('t', 1000), null)
  const entry = await state.dequeue('t')
  const message = Message.fromJSON(entry?.message as Parameters<typeof Message.fromJSON>[0])
  assert.equal(message.text, 'text of m1')
  assert.deepEqual(message.metadata.dateSent, new Date(0))
})

test('a queue keeps the newest, gives the oldest first and passes over what has expired', async (t) => {
  const clock = stopClock(t)
  const state = new ChatState(await openTempStore(t), { namespace: 'chat' })
  const depths = [
    await state.enqueue('t', entryOf('dropped'), 3),
    await state.enqueue('t', entryOf('stale', Date.now() + 10), 3),
    await state.enqueue('t', entryOf('a'), 3),
    await state.enqueue('t', entryOf('b'), 3),
  ]

  clock.forward(10)
  const left = await state.queueDepth('t')
  const order: unknown[] = []
  for (let entry = await state.dequeue('t'); entry; entry = await state.dequeue('t')) {
    order.push((entry.message as { id: string }).id)
  }

  assert.deepEqual(depths, [1, 2, 3, 3])
  assert.equal(left, 2)
  assert.deepEqual(order, ['a', 'b'])
})

test('a list that has expired begins anew, though many others have expired before it', async (t) => {
  const clock = stopClock(t)
  const state = new ChatState(await openTempStore(t), { namespace: 'chat' })
  const lists = Array.from({ length: 120 }, (_, index) => `list ${index}`)
  for (const [index, list] of lists.entries()) {
    await state.appendToList(list, 'old', { ttlMs: 1000 + index })
  }

  clock.forward(2000)
  await state.appendToList('list 119', 'new')

  assert.deepEqual(await state.getList('list 119'), ['new'])
  assert.deepEqual(await state.getList('list 118'), [])
})

test('bad keys, times and lengths are refused and change nothing', async (t) => {
  const store = await openTempStore(t)
  const state = new ChatState(store, { namespace: 'chat' })
  const refused = [
    state.set('\ud800', 1),
    state.set('k', undefined),
    state.set('k', new Map()),
    state.set('k', 1, -5),
    state.acquireLock('t', NaN),
    state.appendToList('k', 1, { maxLength: 1.5 }),
    state.appendToList('k', () => 1),
    state.enqueue('t', entryOf('m'), -1),
    state.enqueue('t', entryOf('m', NaN), 1),
  ]

  for (const result of await Promise.allSettled(refused)) {
    assert.equal(result.status, 'rejected')
    assert.ok(result.reason instanceof InvalidInputError)
  }
  const rows = await store.db.selectFrom('store_key_values').select('key').execute()
  assert.deepEqual(rows, [])
})

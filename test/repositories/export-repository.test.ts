import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError, type Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

async function fill(store: Store, ids: string[]): Promise<void> {
  for (const id of ids) {
    await store.sessions.create({ id, source: 'cli' })
    await store.messages.append(id, { role: 'user', content: `of ${id}` })
  }
}

test('a session that changes while all are exported comes once', async (t) => {
  const store = await openTempStore(t)
  let now = 1_770_000_000_000
  t.mock.method(Date, 'now', () => (now += 1000))
  await fill(store, ['a', 'b', 'c', 'd'])
  const exported: [id: string, messages: number][] = []

  for await (const session of store.exports.all()) {
    exported.push([session.id, session.messages.length])
    if (session.id !== 'd') continue
    // Now the most recent one, which would put it before those already given.
    await store.messages.append('b', { role: 'user' })
    await store.sessions.delete('c')
    await fill(store, ['e'])
  }

  assert.deepEqual(exported, [
    ['d', 1],
    ['b', 2],
    ['a', 1],
  ])
})

test('an export that is left early holds up neither a write nor a close', async (t) => {
  const store = await openTempStore(t)
  await fill(store, ['a', 'b'])

  for await (const session of store.exports.all()) {
    assert.equal(session.id, 'b')
    break
  }
  const unread = store.exports.all()

  await store.messages.append('a', { role: 'user' })
  assert.ok(unread)
})

test('a long session is exported whole, by id', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const ids = await store.messages.appendMany(
    's',
    Array.from({ length: 1_000 }, (_, n) => ({ role: 'user', content: n })),
  )

  const session = await store.exports.session('s')

  assert.deepEqual(
    session?.messages.map((message) => message.id),
    ids,
  )
  assert.equal(await store.exports.session('no'), undefined)
  assert.throws(() => store.exports.all({ source: 1 as never }), InvalidInputError)
})

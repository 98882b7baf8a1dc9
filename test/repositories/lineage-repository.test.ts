import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError, type Store } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

interface Member {
  id: string
  parent: string | null
}

test('walks end where a session is its own parent', async (t) => {
  const store = await openTempStore(t)
  insertCompressed(store, [{ id: 'self', parent: 'self' }])

  assert.deepEqual(await store.lineage.ancestors('self'), ['self'])
  assert.deepEqual(await store.lineage.descendants('self'), [])
  assert.equal(await store.lineage.tip('self'), 'self')
  assert.equal(await store.lineage.resumeTarget('self'), 'self')
})

test('walks and lists end where two sessions are each other’s parents', async (t) => {
  const store = await openTempStore(t)
  insertCompressed(store, [
    { id: 'a', parent: 'b' },
    { id: 'b', parent: 'a' },
    { id: 'c', parent: 'b' },
  ])

  assert.deepEqual(await store.lineage.ancestors('a'), ['b', 'a'])
  assert.deepEqual(await store.lineage.ancestors('c'), ['a', 'b', 'c'])
  assert.deepEqual(await store.lineage.descendants('a'), ['b', 'c'])
  assert.equal(await store.lineage.resumeTarget('a'), 'a')
  for (const orderByLastActive of [false, true]) {
    assert.deepEqual(await store.sessions.list({ orderByLastActive }), [])
    const all = await store.sessions.list({ orderByLastActive, includeChildren: true })
    assert.equal(all.length, 3)
  }
})

test('walks and lists end on a chain of 10,000 sessions', async (t) => {
  const store = await openTempStore(t)
  const name = (index: number): string => `s${String(index).padStart(5, '0')}`
  insertCompressed(
    store,
    Array.from({ length: 10_000 }, (_, index) => ({
      id: name(index),
      parent: index === 0 ? null : name(index - 1),
    })),
  )

  const ancestors = await store.lineage.ancestors(name(9_999))
  assert.equal(ancestors.length, 100)
  assert.equal(ancestors[0], name(9_900))
  assert.equal((await store.lineage.descendants(name(0))).length, 9_999)
  assert.equal(await store.lineage.tip(name(0)), name(100))
  assert.equal(await store.lineage.resumeTarget(name(0)), name(0))
  const [entry] = await store.sessions.list({ orderByLastActive: true })
  assert.equal(entry?.lineageRootId, name(0))
  const all = await store.sessions.list({
    orderByLastActive: true,
    includeChildren: true,
    limit: -1,
  })
  assert.equal(all.length, 10_000)
})

test('takes the 32nd session down for a resume, not the 33rd', async (t) => {
  const store = await openTempStore(t)
  for (let index = 0; index <= 33; index += 1) {
    const parent = index === 0 ? {} : { parentSessionId: `s${index - 1}` }
    await store.sessions.create({ id: `s${index}`, source: 'cli', ...parent })
  }
  await store.messages.append('s33', { role: 'user', content: 'at last' })

  assert.equal(await store.lineage.resumeTarget('s0'), 's0')
  assert.equal(await store.lineage.resumeTarget('s1'), 's33')
})

test('stops at a parent that is gone, and still names it', async (t) => {
  const store = await openTempStore(t)
  insertCompressed(store, [{ id: 'orphan', parent: 'gone' }])

  assert.deepEqual(await store.lineage.ancestors('orphan'), ['gone', 'orphan'])
  assert.deepEqual(await store.lineage.descendants('gone'), ['orphan'])
  assert.deepEqual(await store.sessions.list(), [])
})

test('gives descendants of every kind in the order of their start', async (t) => {
  const store = await openTempStore(t)
  let now = 1_770_000_000_000
  t.mock.method(Date, 'now', () => (now += 1000))
  await store.sessions.create({ id: 'root', source: 'cli' })
  await store.sessions.create({ id: 'z', source: 'cli', parentSessionId: 'root' })
  await store.sessions.create({ id: 'b', source: 'tool', parentSessionId: 'z' })
  await store.sessions.create({ id: 'a', source: 'cli', parentSessionId: 'root' })

  assert.deepEqual(await store.lineage.descendants('root'), ['z', 'b', 'a'])
  assert.deepEqual(await store.lineage.descendants('missing'), [])
})

test('refuses an id that is no string', async (t) => {
  const { lineage } = await openTempStore(t)

  for (const id of [undefined, null, 7, {}, ['a']] as unknown as string[]) {
    for (const walk of ['ancestors', 'descendants', 'tip', 'resumeTarget'] as const) {
      await assert.rejects(lineage[walk](id), InvalidInputError)
    }
  }
})

/** Each ended by compression the moment it began, the next one second later. */
function insertCompressed(store: Store, members: Member[]): void {
  withFile(store.path, (db) => {
    db.pragma('foreign_keys = off')
    const insert = db.prepare(
      `insert into sessions (id, source, parent_session_id, started_at, ended_at, end_reason)
       values (?, 'cli', ?, ?, ?, 'compression')`,
    )
    db.transaction(() => {
      members.forEach(({ id, parent }, index) => insert.run(id, parent, 1000 + index, 1000 + index))
    })()
  })
}

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import { InvalidInputError, type Store } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'

const DAY = 86_400

/** Sessions that began, and unless `open` ended, that many days ago. */
function addSessions(store: Store, rows: [id: string, days: number, more?: object][]): void {
  withFile(store.path, (db) => {
    const now = Date.now() / 1000
    for (const [id, days, more = {}] of rows) {
      const row = { id, source: 'cli', started_at: now - days * DAY, ended_at: now - days * DAY }
      const values = Object.entries({ ...row, ...more })
      db.prepare(
        `insert into sessions (${values.map(([name]) => name).join()})
         values (${values.map(() => '?').join()})`,
      ).run(values.map(([, value]) => value))
    }
  })
}

async function ids(store: Store): Promise<string[]> {
  const rows = await store.db.selectFrom('sessions').select('id').orderBy('id').execute()
  return rows.map((row) => row.id)
}

test('deleting a session takes its messages along and leaves its children', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'parent', source: 'cli' })
  await store.sessions.create({ id: 'child', source: 'cli', parentSessionId: 'parent' })
  const message = { role: 'user', content: ['x'] }
  await store.messages.appendMany(
    'parent',
    Array.from({ length: 250 }, () => message),
  )

  assert.equal(await store.sessions.delete('parent'), true)
  assert.equal(await store.sessions.delete('parent'), false)

  assert.deepEqual(await ids(store), ['child'])
  assert.equal((await store.sessions.get('child')).parentSessionId, null)
  assert.equal(await store.messages.count(), 0)
})

test('an id removes no file outside of the folder, and none of another session', async (t) => {
  const store = await openTempStore(t)
  const outside = tempFolder(t)
  const folder = path.join(outside, 'sessions')
  mkdirSync(path.join(folder, 'sub'), { recursive: true })
  const kept = ['a.json', 'sub/b.json', 'sessions.json', 'ab.jsonl', 'request_dump_ab_1.json']
  for (const name of kept) writeFileSync(path.join(folder, name), '')
  writeFileSync(path.join(outside, 'x.json'), '')
  const odd = ['../x', 'sub/b', '*', '?', '[a]', '.', '..', '{a,b}', `${folder}/a`, 'a\\..\\x']
  addSessions(store, [...odd.map((id): [string, number] => [id, 100]), ['gone', 100]])
  for (const name of ['gone.json', '*.jsonl', 'request_dump_gone_20260101_1.json']) {
    writeFileSync(path.join(folder, name), '')
  }

  assert.equal(await store.sessions.delete('../x', { transcriptFolder: folder }), true)
  assert.equal(await store.sessions.prune({ transcriptFolder: folder }), odd.length)

  assert.deepEqual(readdirSync(outside).toSorted(), ['sessions', 'x.json'])
  const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name !== 'sub',
  )
  assert.deepEqual(left.toSorted(), kept.toSorted())
})

test('a folder that is not there does not keep a session from being deleted', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')

  assert.equal(await store.sessions.delete('s', { transcriptFolder: '/no/such/folder' }), true)
})

test('inside a transaction no file can be removed: it may be rolled back', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const folder = tempFolder(t)
  writeFileSync(path.join(folder, 's.json'), '')

  await assert.rejects(
    store.transaction((tx) => tx.sessions.delete('s', { transcriptFolder: folder })),
    InvalidInputError,
  )
  await store.transaction((tx) => tx.sessions.delete('s'))

  assert.deepEqual(await ids(store), [])
  assert.deepEqual(readdirSync(folder), ['s.json'])
})

test('prunes what began before the time and has ended', async (t) => {
  const store = await openTempStore(t)
  addSessions(store, [
    ['old', 91],
    ['old-open', 91, { ended_at: null }],
    ['old-telegram', 91, { source: 'telegram' }],
    ['young', 89],
    ['young-child', 1, { parent_session_id: 'old' }],
  ])

  assert.equal(await store.sessions.prune({ source: 'discord' }), 0)
  assert.equal(await store.sessions.prune({ source: 'telegram' }), 1)
  assert.equal(await store.sessions.prune(), 1)

  assert.deepEqual(await ids(store), ['old-open', 'young', 'young-child'])
  assert.equal((await store.sessions.get('young-child')).parentSessionId, null)
  for (const olderThanDays of [-1, NaN, Infinity, '90']) {
    await assert.rejects(
      store.sessions.prune({ olderThanDays: olderThanDays as number }),
      InvalidInputError,
    )
  }
  assert.equal(await store.sessions.prune({ olderThanDays: 0 }), 2)
})

test('prunes more sessions than a statement takes variables', async (t) => {
  const store = await openTempStore(t)
  withFile(store.path, (db) =>
    db.exec(`
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
      insert into sessions (id, source, started_at, ended_at, parent_session_id)
      select 's' || i, 'cli', 1, 2, 's' || (i + 1) from n where i < 40000
      union all select 's40000', 'cli', 1, 2, null
    `),
  )

  assert.equal(await store.sessions.prune(), 40_000)

  assert.equal(await store.sessions.count(), 0)
})

test('a ghost goes unless somebody names it as parent', async (t) => {
  const store = await openTempStore(t)
  const ghost = { source: 'tui' }
  addSessions(store, [
    ['ghost', 2, ghost],
    ['ghost-parent', 2, ghost],
    ['ghost-child', 2, { ...ghost, parent_session_id: 'ghost-parent' }],
    ['named', 2, ghost],
    ['child', 2, { parent_session_id: 'named' }],
    ['titled', 2, { ...ghost, title: 't' }],
    ['fresh', 0.9, ghost],
    ['open', 2, { ...ghost, ended_at: null }],
    ['talked-in', 2, ghost],
  ])
  await store.messages.append('talked-in', { role: 'user' })

  assert.equal(await store.sessions.pruneGhosts(), 3)

  assert.deepEqual(await ids(store), ['child', 'fresh', 'named', 'open', 'talked-in', 'titled'])
})

test('ends an unused continuation of a compression after a week, and nothing else', async (t) => {
  const store = await openTempStore(t)
  const orphan = { ended_at: null, parent_session_id: 'compressed' }
  addSessions(store, [
    ['compressed', 9, { end_reason: 'compression' }],
    ['ended', 9, { end_reason: 'cli_close' }],
    ['orphan', 8, orphan],
    ['called', 8, { ...orphan, api_call_count: 1 }],
    ['young', 6, orphan],
    ['empty', 8, orphan],
    ['other', 8, { ...orphan, parent_session_id: 'ended' }],
    ['reason', 8, { ...orphan, end_reason: 'x' }],
  ])
  for (const id of await ids(store)) {
    if (id !== 'empty') await store.messages.append(id, { role: 'user' })
  }

  assert.equal(await store.sessions.finalizeOrphanedCompressions(), 1)
  assert.equal(await store.sessions.finalizeOrphanedCompressions(), 0)

  const { endReason, endedAt } = await store.sessions.get('orphan')
  assert.equal(endReason, 'orphaned_compression')
  assert.notEqual(endedAt, null)
})

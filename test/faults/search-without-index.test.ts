import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'

import { openStore, type Store } from '../../src/index.ts'
import { damageIndex, INDEX_DAMAGES } from '../support/damage.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

const TEXTS = ['an old needle', '今天天气很好', '修改foobar模块', 'ship it 🚀', 'needle and thread']
const QUERIES: Record<string, number[]> = {
  needle: [1, 5],
  天气: [2],
  foobar: [3],
  '🚀': [4],
  'needle -thread': [1],
  '天气 OR thread': [2, 5],
  今天天气: [2],
}

async function storeSaying(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  for (const content of TEXTS) await store.messages.append('s', { role: 'user', content })
  return store
}

async function assertFindsAll(store: Store, isWhole: boolean): Promise<void> {
  for (const [query, ids] of Object.entries(QUERIES)) {
    const { hits, notes } = await store.search.find(query, { sort: 'oldest' })
    assert.deepEqual(
      hits.map(({ id }) => id),
      ids,
      query,
    )
    const codes = isWhole ? [] : ['index-incomplete']
    assert.deepEqual(
      notes.map(({ code }) => code),
      codes,
      query,
    )
  }
}

const losses: Record<string, string> = {
  'a trigger is missing': 'drop trigger messages_fts_trigram_insert',
  'all triggers are missing': `drop trigger messages_fts_insert; drop trigger messages_fts_update;
    drop trigger messages_fts_delete; drop trigger messages_fts_trigram_insert;
    drop trigger messages_fts_trigram_update; drop trigger messages_fts_trigram_delete`,
  'the word index is missing': 'drop table messages_fts',
  'the trigram index is missing': 'drop table messages_fts_trigram',
  'the word index is empty': 'delete from messages_fts',
  'the trigram index is empty': 'delete from messages_fts_trigram',
  'the newest messages are not indexed': 'delete from messages_fts_trigram where rowid > 2',
  'the oldest messages are not indexed': 'delete from messages_fts where rowid < 4',
}

for (const [loss, change] of Object.entries(losses)) {
  test(`finds everything and says that it was slow when ${loss}`, async (t) => {
    const store = await storeSaying(t)
    await assertFindsAll(store, true)

    withFile(store.path, (db) => db.exec(change))

    await assertFindsAll(store, false)
    assert.notDeepEqual(await store.maintenance.check(), [])
    await store.maintenance.rebuildIndexes()
    await assertFindsAll(store, true)
  })
}

for (const index of ['messages_fts', 'messages_fts_trigram'] as const) {
  for (const [name, damage] of Object.entries(INDEX_DAMAGES)) {
    test(`finds everything although ${index} has ${name}`, async (t) => {
      const store = await storeSaying(t)

      damageIndex(store.path, index, damage)

      for (const [query, ids] of Object.entries(QUERIES)) {
        const { hits } = await store.search.find(query, { sort: 'oldest' })
        assert.deepEqual(
          hits.map(({ id }) => id),
          ids,
          query,
        )
      }
    })
  }
}

test('opening a file without its indexes makes them anew; a read-only store does without', async (t) => {
  const store = await storeSaying(t)
  withFile(store.path, (db) => db.exec('drop trigger messages_fts_insert'))

  {
    await using readonly = await openStore({ path: store.path, readonly: true })
    await assertFindsAll(readonly, false)
  }
  await using reopened = await openStore({ path: store.path })
  await assertFindsAll(reopened, true)
})

const pythonChanges = `
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], timeout=5)
conn.execute("PRAGMA foreign_keys=ON")
conn.execute("insert into messages (session_id, role, content, timestamp) values ('s', 'user', '上海的天气 needle', 1)")
conn.execute("insert into messages (session_id, role, content, timestamp) values ('s', 'user', '将被删除的天气', 2)")
conn.commit()
conn.execute("update messages set content = '今天下雨' where id = 2")
conn.execute("delete from messages where id = 7")
conn.execute("delete from messages where id = 5")
conn.commit()
`

test('shows what Python adds, changes and deletes, at once', async (t) => {
  const skip = skipWithoutPython()
  if (skip) return t.skip(skip)
  const store = await storeSaying(t)
  await store.search.messages('天气')

  await runPython(pythonChanges, [store.path])

  const found = async (query: string): Promise<number[]> =>
    (await store.search.messages(query)).map(({ id }) => id).toSorted((a, b) => a - b)
  assert.deepEqual(await found('天气'), [6])
  assert.deepEqual(await found('下雨'), [2])
  assert.deepEqual(await found('雨'), [2])
  assert.deepEqual(await found('needle'), [1, 6])
  assert.deepEqual(await found('删'), [])
})

import assert from 'node:assert/strict'
import test from 'node:test'

import {
  InvalidInputError,
  SessionBoundError,
  SessionNotFoundError,
  type NewTopicBinding,
  type Store,
} from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

/** Greater than what a number holds exactly. */
const CHAT = '9007199254740993'

function topic(threadId: string, sessionId: string): NewTopicBinding {
  return { chatId: CHAT, threadId, userId: 'u', sessionKey: 'key', sessionId }
}

function topicTables(store: Store): unknown[] {
  return withFile(store.path, (db) =>
    db.prepare(`select name from sqlite_master where name like 'telegram%'`).all(),
  )
}

test('where topics were never used there is nothing, and reading makes no tables', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'telegram', userId: 'u' })
  const topics = store.telegramTopics

  assert.equal(await topics.isEnabled(CHAT, 'u'), false)
  assert.equal(await topics.binding(CHAT, '1'), undefined)
  assert.equal(await topics.bindingBySession('s'), undefined)
  assert.deepEqual(await topics.listBindings(CHAT), [])
  assert.equal(await topics.isLinked('s'), false)
  assert.equal((await topics.listUnlinkedSessions({ userId: 'u' })).length, 1)
  await topics.disable(CHAT)

  assert.deepEqual(topicTables(store), [])
})

test('a session belongs to one topic', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'telegram', userId: 'u' })
  await store.telegramTopics.bind(topic('1', 's'))

  await assert.rejects(store.telegramTopics.bind(topic('2', 's')), (error) => {
    assert.ok(error instanceof SessionBoundError)
    assert.deepEqual([error.sessionId, error.chatId, error.threadId], ['s', CHAT, '1'])
    return true
  })
  await assert.rejects(store.telegramTopics.bind(topic('2', 'nobody')), SessionNotFoundError)

  const bindings = await store.telegramTopics.listBindings(CHAT)
  assert.deepEqual(
    bindings.map(({ threadId, sessionId, managedMode }) => [threadId, sessionId, managedMode]),
    [['1', 's', 'auto']],
  )
})

test('a binding that fails leaves the file without tables', async (t) => {
  const store = await openTempStore(t)

  await assert.rejects(store.telegramTopics.bind(topic('1', 'nobody')), SessionNotFoundError)

  assert.deepEqual(topicTables(store), [])
})

test('bindings of version 1 are rebuilt so that they go with their session', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'kept', source: 'telegram', userId: 'u' })
  await store.sessions.create({ id: 'gone', source: 'telegram', userId: 'u' })
  await store.telegramTopics.bind(topic('1', 'kept'))
  await store.telegramTopics.bind(topic('2', 'gone'))
  withFile(store.path, (db) => {
    const { sql } = db
      .prepare(`select sql from sqlite_master where name = 'telegram_dm_topic_bindings'`)
      .get() as { sql: string }
    db.exec(`
      create temp table kept_rows as select * from telegram_dm_topic_bindings;
      drop table telegram_dm_topic_bindings;
      ${sql.replace(' ON DELETE CASCADE', '')};
      insert into telegram_dm_topic_bindings select * from kept_rows;
      update state_meta set value = '1' where key = 'telegram_dm_topic_schema_version'`)
  })
  const before = await store.telegramTopics.listBindings(CHAT)

  await store.telegramTopics.ensureTables()

  assert.deepEqual(await store.telegramTopics.listBindings(CHAT), before)
  assert.equal(await store.meta.get('telegram_dm_topic_schema_version'), '2')
  await store.transaction((tx) => tx.db.deleteFrom('sessions').where('id', '=', 'gone').execute())
  assert.equal(await store.telegramTopics.isLinked('gone'), false)
  assert.equal(await store.telegramTopics.isLinked('kept'), true)
  const indexes = withFile(store.path, (db) =>
    db
      .prepare(`select name from sqlite_master where name like 'idx_telegram%' order by name`)
      .pluck()
      .all(),
  )
  assert.deepEqual(indexes, [
    'idx_telegram_dm_topic_bindings_session',
    'idx_telegram_dm_topic_bindings_user',
  ])
})

test('tables that several calls need at once are made once', async (t) => {
  const store = await openTempStore(t)

  await Promise.all([
    store.telegramTopics.enable({ chatId: CHAT, userId: 'u', hasTopicsEnabled: true }),
    store.telegramTopics.enable({ chatId: '2', userId: 'u' }),
    store.telegramTopics.ensureTables(),
  ])

  assert.equal(await store.telegramTopics.isEnabled(CHAT, 'u'), true)
  assert.equal(await store.telegramTopics.isEnabled(CHAT, 'someone else'), false)
})

test('refuses what is no text, and numbers for ids', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'telegram', userId: 'u' })
  const topics = store.telegramTopics
  const good = { chatId: CHAT, userId: 'u' }

  for (const bad of ['', 1, 1n, null, {}] as unknown as string[]) {
    await assert.rejects(topics.enable({ ...good, chatId: bad }), InvalidInputError)
    await assert.rejects(topics.bind({ ...topic('1', 's'), chatId: bad }), InvalidInputError)
    await assert.rejects(topics.bind({ ...topic('1', 's'), threadId: bad }), InvalidInputError)
    await assert.rejects(topics.bind({ ...topic('1', 's'), sessionKey: bad }), InvalidInputError)
    await assert.rejects(topics.disable(bad), InvalidInputError)
  }
  await assert.rejects(
    topics.enable({ ...good, hasTopicsEnabled: 1 as unknown as boolean }),
    InvalidInputError,
  )
  await assert.rejects(topics.listUnlinkedSessions({ userId: 'u', limit: 0.5 }), InvalidInputError)
  assert.deepEqual(topicTables(store), [])
})

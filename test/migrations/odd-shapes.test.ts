import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { allRows, heal, shaped } from '../support/odd-file.ts'
import { assertComplete, columnsOf, copyFixture, withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const V3 = `alter table sessions add column title TEXT; update schema_version set version = 3`
const V9 = `alter table messages add column codex_message_items TEXT;
  update schema_version set version = 9`

const EMPTY_TRIGRAM = `drop table messages_fts_trigram;
CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
    content,
    tokenize='trigram'
);`

for (const [name, fixture, ddl] of [
  ['v3, which no program ever wrote', 'v2', V3],
  ['v9', 'v8', V9],
] as const) {
  test(`${name} is upgraded from where it is, without losing a row`, async (t) => {
    const file = shaped(t, fixture, ddl)
    const before = allRows(file, 'select id, content from messages order by id')

    const events = await heal(file)

    const from = fixture === 'v2' ? 3 : 9
    assert.deepEqual(events[0], { kind: 'begin', fromVersion: from, toVersion: 11 })
    assert.equal(events.filter(({ kind }) => kind === 'step').length, 11 - from)
    assert.deepEqual(allRows(file, 'select id, content from messages order by id'), before)
    assertComplete(file)
  })
}

test('the handoff columns come beside the handoff_pending of one commit, which stays', async (t) => {
  const file = shaped(
    t,
    'v11_first',
    `alter table sessions add column handoff_pending INTEGER DEFAULT 0;
     alter table sessions add column handoff_platform TEXT;
     update sessions set handoff_platform = 'telegram'`,
  )

  await heal(file)

  assertComplete(file, 'agent')
  assert.ok(withFile(file, (db) => columnsOf(db, 'sessions')).includes('handoff_pending'))
  assert.deepEqual(allRows(file, 'select distinct handoff_platform from sessions'), [['telegram']])
})

for (const fixture of ['v1', 'v8', 'v10', 'v11']) {
  test(`${fixture} without its version row is found out by its shape`, async (t) => {
    const file = shaped(t, fixture, 'delete from schema_version')
    const before = allRows(file, 'select id, content from messages order by id')

    await heal(file)

    assertComplete(file, fixture === 'v11' ? 'agent' : 'us')
    assert.deepEqual(allRows(file, 'select id, content from messages order by id'), before)
  })
}

for (let version = 0; version <= 11; version += 1) {
  test(`a file of version ${version} that has nothing but its version is completed`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    withFile(file, (db) =>
      db.exec(
        `CREATE TABLE schema_version ( version INTEGER NOT NULL ); insert into schema_version values (${version})`,
      ),
    )

    await heal(file)

    assertComplete(file)
  })
}

for (const [what, fixture, ddl] of [
  ['sessions without messages', 'v4', 'drop table messages'],
  [
    'version 4 whose titles never came',
    'v4',
    'drop index if exists idx_sessions_title_unique; alter table sessions drop column title',
  ],
  ['version 6 whose reasoning never came', 'v6', 'alter table messages drop column reasoning'],
] as const) {
  test(`a half-made file, ${what}, is completed without losing a row`, async (t) => {
    const file = shaped(t, fixture, ddl)
    const before = allRows(file, 'select id from sessions order by id')

    await heal(file)

    assertComplete(file)
    assert.deepEqual(allRows(file, 'select id from sessions order by id'), before)
  })
}

test('a file without the schema_version table is taken for one without a row', async (t) => {
  const file = shaped(t, 'v8', 'drop table schema_version')

  await heal(file)

  assertComplete(file)
})

test('two version rows become one, counted from the lower', async (t) => {
  const file = shaped(t, 'v8', 'insert into schema_version values (11)')

  const events = await heal(file)

  assert.deepEqual(events[0], { kind: 'begin', fromVersion: 8, toVersion: 11 })
  assertComplete(file)
})

test('a column that an ALTER of the agent could not add, though the version says so, is added', async (t) => {
  const file = shaped(
    t,
    'v11',
    `alter table messages drop column codex_message_items;
     alter table messages drop column reasoning_content;
     alter table sessions drop column api_call_count`,
  )

  const events = await heal(file)

  assert.ok(events.some(({ kind }) => kind === 'repair'))
  assertComplete(file, 'agent')
})

for (const [what, ddl] of [
  ['an index left empty by racing upgrades', EMPTY_TRIGRAM],
  ['an index that ends too early', `delete from messages_fts where rowid > 7`],
  ['a missing word index', `drop table messages_fts`],
  ['a missing trigram index', `drop table messages_fts_trigram`],
  ['two missing indexes and their triggers', dropSearch()],
  ['a missing insert trigger', `drop trigger messages_fts_insert`],
  ['a missing delete trigger', `drop trigger messages_fts_trigram_delete`],
  ['a missing meta table', `drop table state_meta`],
  ['a missing title index', `drop index idx_sessions_title_unique`],
  ['a missing plain index', `drop index idx_messages_session`],
] as const) {
  test(`${what} in a file of version 11 is made anew`, async (t) => {
    const file = shaped(t, 'v11', ddl)

    const events = await heal(file)

    assert.ok(events.some(({ kind }) => kind === 'repair'))
    assertComplete(file, 'agent')
    assert.deepEqual(await heal(file), [], 'nothing is left to do')
  })
}

function dropSearch(): string {
  const triggers = ['insert', 'delete', 'update'].flatMap((event) => [
    `drop trigger messages_fts_${event};`,
    `drop trigger messages_fts_trigram_${event};`,
  ])
  return [...triggers, 'drop table messages_fts;', 'drop table messages_fts_trigram'].join('')
}

test('messages that a missing trigger left out of the index are found again', async (t) => {
  const file = shaped(
    t,
    'v11',
    `drop trigger messages_fts_insert;
     insert into messages (session_id, role, content, timestamp)
     select id, 'user', 'forgotten zeppelin', 1 from sessions limit 1`,
  )

  await heal(file)

  const found = allRows(
    file,
    `select content from messages_fts where messages_fts match 'zeppelin'`,
  )
  assert.equal(found.length, 1)
})

test('a delete that the index missed leaves no ghost in it', async (t) => {
  const file = shaped(
    t,
    'v11',
    `drop trigger messages_fts_delete; drop trigger messages_fts_trigram_delete;
     delete from messages where id = (select max(id) from messages)`,
  )

  await heal(file)

  assertComplete(file)
})

test('a file of which another program has made the first table only is finished', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  withFile(file, (db) => db.exec('CREATE TABLE schema_version (\n    version INTEGER NOT NULL\n)'))

  await heal(file)

  assertComplete(file)
})

test('a file met between two steps of a v11 upgrade is finished', async (t) => {
  const file = shaped(
    t,
    'v8',
    `alter table messages add column codex_message_items TEXT;
     drop trigger messages_fts_insert; drop trigger messages_fts_delete;
     drop trigger messages_fts_update; drop table messages_fts`,
  )

  await heal(file)

  assertComplete(file)
})

test('columns and tables that the package does not know stay', async (t) => {
  const file = shaped(
    t,
    'v8',
    `alter table sessions add column my_own TEXT;
     update sessions set my_own = 'kept';
     create table notes (text TEXT); insert into notes values ('kept too')`,
  )

  await heal(file)

  assert.deepEqual(allRows(file, 'select distinct my_own from sessions'), [['kept']])
  assert.deepEqual(allRows(file, 'select text from notes'), [['kept too']])
  assertComplete(file)
})

test('rows that break foreign keys neither stop the upgrade nor go', async (t) => {
  const file = copyFixture(t, 'v8')
  withFile(file, (db) => {
    db.pragma('foreign_keys = off')
    db.exec(`insert into messages (session_id, role, content, timestamp)
      values ('gone', 'user', 'orphan', 1)`)
  })

  await heal(file)

  assert.deepEqual(allRows(file, `select content from messages where session_id = 'gone'`), [
    ['orphan'],
  ])
})

test('the ledger of an earlier run does not outweigh what schema_version says', async (t) => {
  const file = copyFixture(t, 'v8')
  await heal(file)
  withFile(file, (db) =>
    db.exec(`update schema_version set version = 9;
      update store_schema_migrations set timestamp = '2999-01-01T00:00:00.000Z' where name like '0003%'`),
  )

  const events = await heal(file)

  assert.deepEqual(events[0], { kind: 'begin', fromVersion: 9, toVersion: 11 })
  assertComplete(file)
})

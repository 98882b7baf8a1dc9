import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Database as RawDatabase } from 'better-sqlite3'
import { sql } from 'kysely'

import { openStore } from '../../src/index.ts'
import { readGolden } from '../support/golden-cases.ts'
import { assertComplete, copyFixture, folded, withFile } from '../support/state-file.ts'

/** What v11 made of the fixture when it opened it. */
interface Recorded {
  version_after: number[][]
  columns: Record<string, ColumnInfo[]>
  fts: Record<string, string>
  indexes: string[]
  search: Record<string, number[]>
  rows: Record<string, Record<string, unknown>[]>
}
type ColumnInfo = [name: string, type: string, notNull: number, dflt: string | null, pk: number]

const recorded = readGolden('migrations') as Record<string, Recorded>
const MIGRATED = ['v1', 'v2', 'v4', 'v5', 'v6', 'v7', 'v7_first', 'v8', 'v10', 'v10_first']
const BORN_AT_11 = ['v11', 'v11_first']
const NEWER = ['v12', 'v14', 'v18', 'v22', 'v25']

for (const name of [...MIGRATED, ...BORN_AT_11]) {
  test(`${name} ends as v11 itself leaves it`, async (t) => {
    const file = copyFixture(t, name)

    const store = await openStore({ path: file })
    await store.close()

    assertComplete(file, BORN_AT_11.includes(name) ? 'agent' : 'us')
    assertAsRecorded(file, recorded[name]!)
  })
}

for (const name of NEWER) {
  test(`${name} is read as v11 reads it`, async (t) => {
    const file = copyFixture(t, name)

    await using store = await openStore({ path: file })

    assert.equal(store.schemaVersion, Number(name.slice(1)))
    const { rows } = recorded[name]!
    const sessions = await store.db
      .selectFrom('sessions')
      .select('id')
      .orderBy(sql`rowid`)
      .execute()
    assert.deepEqual(
      sessions.map((row) => row.id),
      rows['sessions']?.map((row) => row['id']),
    )
    const messages = await store.db.selectFrom('messages').select('content').orderBy('id').execute()
    assert.deepEqual(
      messages.map((row) => row.content),
      rows['messages']?.map((row) => row['content']),
    )
  })
}

function assertAsRecorded(file: string, expected: Recorded): void {
  withFile(file, (db) => {
    const versions = db.prepare('select version from schema_version').raw().all()
    assert.deepEqual(versions, expected.version_after)
    for (const [table, columns] of Object.entries(expected.columns)) {
      assert.deepEqual(columnInfo(db, table), columns.toSorted(byName), `columns of ${table}`)
    }
    for (const [object, ddl] of Object.entries(expected.fts)) {
      const live = db.prepare('select sql from sqlite_master where name = ?').pluck().get(object)
      assert.equal(folded(String(live)), folded(ddl))
    }
    const indexes = db
      .prepare(`select name from sqlite_master where type = 'index' and sql is not null order by 1`)
      .pluck()
      .all()
    const ofAgent = indexes.filter((index) => !String(index).startsWith('store_'))
    assert.deepEqual(ofAgent, expected.indexes)
    for (const [text, ids] of Object.entries(expected.search)) {
      assert.deepEqual(
        searched(db, text).toSorted(rising),
        ids.toSorted(rising),
        `search for ${text}`,
      )
    }
    for (const [table, rows] of Object.entries(expected.rows)) {
      assert.deepEqual(db.prepare(`select * from ${table} order by rowid`).all(), rows, table)
    }
  })
}

function columnInfo(db: RawDatabase, table: string): ColumnInfo[] {
  return db
    .prepare<[string], ColumnInfo>(
      `select name, type, "notnull", dflt_value, pk from pragma_table_info(?)`,
    )
    .raw()
    .all(table)
    .toSorted(byName)
}

function rising(a: number, b: number): number {
  return a - b
}

function byName([a]: ColumnInfo, [b]: ColumnInfo): number {
  return a < b ? -1 : 1
}

/** The two routes of spec §13 that need no repository: words, and three or more CJK characters. */
function searched(db: RawDatabase, text: string): number[] {
  const isCjk = /[\p{Script=Han}\p{Script=Katakana}]/u.test(text)
  if (isCjk && text.length < 3) {
    return idsBy(db, 'select id from messages where content like ?', `%${text}%`)
  }
  const index = isCjk ? 'messages_fts_trigram' : 'messages_fts'
  return idsBy(db, `select rowid from ${index} where ${index} match ?`, `"${text}"`)
}

function idsBy(db: RawDatabase, query: string, parameter: string): number[] {
  return db.prepare<[string], number>(query).pluck().all(parameter)
}

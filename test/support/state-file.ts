import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'

import SqliteDatabase from 'better-sqlite3'
import type { Database as RawDatabase } from 'better-sqlite3'

import type { Store } from '../../src/index.ts'
import { readGolden } from './golden-cases.ts'
import { tempFolder } from './temp-store.ts'

/** Where `test/fixtures` keeps a state.db that the agent's own code of that version made. */
export function fixturePath(name: string): string {
  return path.join(import.meta.dirname, '..', 'fixtures', `${name}.db`)
}

/** A copy of a fixture in a folder of its own. */
export function copyFixture(t: TestContext, name: string): string {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(fixturePath(name), file)
  return file
}

/** Runs `work` on the file beside the store, as another program would, and closes it again. */
export function withFile<T>(file: string, work: (db: RawDatabase) => T): T {
  const db = new SqliteDatabase(file)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** What v11 itself makes of a file, or of none. */
interface SchemaGolden {
  readonly fresh: { type: string; name: string; tbl_name: string; sql: string | null }[]
}

/** Name and folded DDL of everything in the file that is not ours and not an automatic index. */
export function objectsOf(db: RawDatabase): Record<string, string> {
  const rows = db
    .prepare<[], { name: string; sql: string }>(
      `select name, sql from sqlite_master
       where sql is not null and name not like 'store\\_%' escape '\\' order by name`,
    )
    .all()
  return Object.fromEntries(rows.map(({ name, sql }) => [name, folded(sql)]))
}

/** All white space made one blank, as two programs may lay out the same DDL differently. */
export function folded(ddl: string): string {
  return ddl.replaceAll(/\s+/g, ' ').trim()
}

/** Names of the columns by table; the order says how old a file is, not what is in it. */
export function columnsOf(db: RawDatabase, table: string): string[] {
  return db
    .prepare<[string], { name: string }>('select name from pragma_table_info(?) order by name')
    .all(table)
    .map(({ name }) => name)
}

/**
 * Asserts that the file is whole: version 11, every object and column of a file that v11 makes, both
 * indexes equal to the messages, no structural damage.
 * `indexedBy: 'agent'`: its older SQLite cuts a text with U+0000 differently, so ours cannot check it.
 */
export function assertComplete(file: string, indexedBy: 'us' | 'agent' = 'us'): void {
  withFile(file, (db) => {
    const { fresh } = readGolden('schema') as SchemaGolden
    const objects = objectsOf(db)
    for (const { name, type, sql } of fresh) {
      if (sql === null) continue
      assert.ok(name in objects, `${type} ${name} is missing`)
      // A table that grew keeps the text of its first CREATE; its columns are compared instead.
      if (name !== 'sessions' && name !== 'messages') assert.equal(objects[name], folded(sql))
    }
    const expected = withFresh((born) => [columnsOf(born, 'sessions'), columnsOf(born, 'messages')])
    const [sessions = [], messages = []] = expected
    for (const name of sessions) assert.ok(columnsOf(db, 'sessions').includes(name), name)
    for (const name of messages) assert.ok(columnsOf(db, 'messages').includes(name), name)

    assert.deepEqual(db.prepare('select version from schema_version').all(), [{ version: 11 }])
    const problems = db.prepare<[], string>('pragma integrity_check').pluck().all()
    const known = /malformed inverted index for FTS5 table main\.messages_fts_trigram/
    const serious = problems.filter((text) => indexedBy === 'us' || !known.test(text))
    assert.ok(serious.length === 0 || serious.join() === 'ok', serious.join())
    assert.deepEqual(db.pragma('foreign_key_check'), [])
    assertIndexed(db, indexedBy)
  })
}

function withFresh<T>(work: (db: RawDatabase) => T): T {
  return withFile(':memory:', (db) => {
    for (const { name, type, sql } of (readGolden('schema') as SchemaGolden).fresh) {
      if (type === 'table' && sql !== null && /^(?:sessions|messages)$/.test(name)) db.exec(sql)
    }
    return work(db)
  })
}

function assertIndexed(db: RawDatabase, indexedBy: 'us' | 'agent'): void {
  const ids = (table: string, column: string): unknown[] =>
    db.prepare(`select ${column} from ${table} order by 1`).pluck().all()
  const stored = ids('messages', 'id')
  for (const index of ['messages_fts', 'messages_fts_trigram']) {
    assert.deepEqual(ids(`${index}_docsize`, 'id'), stored, `${index} lacks rows`)
    const differing = db
      .prepare(
        `select count(*) from messages m join ${index} i on i.rowid = m.id
         where i.content <> coalesce(m.content, '') || ' ' || coalesce(m.tool_name, '') || ' ' ||
           coalesce(m.tool_calls, '')
         -- Its trigrams must not depend on how an SQLite takes U+0000, so we leave it out there.
         and not ('${index}' = 'messages_fts_trigram' and instr(coalesce(m.content, ''), char(0)))`,
      )
      .pluck()
      .get()
    assert.equal(differing, 0, `${index} holds other texts than the messages`)
    if (indexedBy === 'us') db.exec(`insert into ${index}(${index}) values ('integrity-check')`)
  }
}

/** Whether SQLite left one of its side files beside the database. */
export function sideFiles(file: string): string[] {
  return ['-wal', '-shm', '-journal'].filter((suffix) => existsSync(file + suffix))
}

/** The smallest write. */
export async function addMeta(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.db.insertInto('state_meta').values({ key: randomUUID(), value: 'v' }).execute()
  })
}

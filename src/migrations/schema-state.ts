import { sql, type Kysely } from 'kysely'

import { SchemaUnreadableError } from '../errors.ts'
import { bornAt11, isIndexed } from './0011_inline_indexes.ts'
import { SCHEMA_VERSION } from './steps.ts'

/** What kind of file it is, and how far it is from version 11. */
export interface SchemaState {
  /**
   * The number in `schema_version`; 0 for a new file or one without a row. Of several, the lowest, so
   * that no step is left out; the highest where that is a newer Hermes'.
   */
  readonly version: number
  /** A file without any table. */
  readonly isNew: boolean
  /** Upgraded by a Hermes newer than this package. */
  readonly isNewer: boolean
  /** Every table and column this package reads is there. */
  readonly isReadable: boolean
  /** Version and shape are those of a file born at version 11; nothing is to be done. */
  readonly isComplete: boolean
}

const INDEXES = [
  'idx_messages_session',
  'idx_sessions_parent',
  'idx_sessions_source',
  'idx_sessions_started',
  'idx_sessions_title_unique',
]

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  schema_version: ['version'],
  state_meta: ['key', 'value'],
  sessions: columnsIn(bornAt11.sessions),
  messages: columnsIn(bornAt11.messages),
}

/** Columns of the very first version: without them a table of that name is another program's. */
const OLDEST_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  schema_version: ['version'],
  sessions: ['id', 'source', 'started_at'],
  messages: ['id', 'session_id', 'role', 'content', 'timestamp'],
}

/**
 * What kind of file this is, found by reading only.
 * @throws {SchemaUnreadableError} when it is another program's or its version is no number.
 */
export async function inspectSchema(db: Kysely<unknown>): Promise<SchemaState> {
  const live = await liveColumns(db)
  if (live.size === 0) {
    return { version: 0, isNew: true, isNewer: false, isReadable: false, isComplete: false }
  }
  assertHermesFile(live)
  const versions = live.has('schema_version') ? await readVersions(db) : []
  const highest = Math.max(0, ...versions)
  const isNewer = highest > SCHEMA_VERSION
  const version = isNewer ? highest : Math.min(highest, ...versions)
  const isReadable = Object.entries(COLUMNS).every(([table, columns]) =>
    columns.every((column) => live.get(table)?.has(column)),
  )
  const isComplete =
    !isNewer &&
    isReadable &&
    versions.length === 1 &&
    version === SCHEMA_VERSION &&
    (await hasAllIndexes(db)) &&
    (await isIndexed(db))
  return { version, isNew: false, isNewer, isReadable, isComplete }
}

/** Column names by table, virtual tables left out: SQLite may lack the module that reads them. */
async function liveColumns(db: Kysely<unknown>): Promise<Map<string, Set<string>>> {
  const { rows } = await sql<{ tableName: string; columnName: string }>`
    select t.name as tableName, c.name as columnName
    from sqlite_master t, pragma_table_info(t.name) c
    where t.type = 'table' and t.sql not like 'create virtual table%'
  `.execute(db)
  const tables = new Map<string, Set<string>>()
  for (const { tableName, columnName } of rows) {
    const columns = tables.get(tableName) ?? new Set()
    tables.set(tableName, columns.add(columnName))
  }
  return tables
}

function assertHermesFile(live: ReadonlyMap<string, ReadonlySet<string>>): void {
  for (const [table, columns] of Object.entries(OLDEST_COLUMNS)) {
    const actual = live.get(table)
    if (!actual || columns.every((column) => actual.has(column))) continue
    throw new SchemaUnreadableError(`its table "${table}" is not one of a Hermes state.db`)
  }
  // A Hermes that is just making the file commits table by table, `sessions` among the first.
  const foreign = [...live.keys()].find((table) => !isEarlyTable(table))
  if (foreign !== undefined && !live.has('sessions')) {
    throw new SchemaUnreadableError(`it has a table "${foreign}" but no Hermes sessions`)
  }
}

function isEarlyTable(name: string): boolean {
  return Object.hasOwn(COLUMNS, name) || name.startsWith('sqlite_')
}

async function readVersions(db: Kysely<unknown>): Promise<number[]> {
  const { rows } = await sql<{ version: unknown; type: string }>`
    select version, typeof(version) as type from schema_version
  `.execute(db)
  return rows.map(({ version, type }) => {
    if (type === 'integer' && typeof version === 'number' && version >= 0) return version
    throw new SchemaUnreadableError(
      `schema_version holds ${JSON.stringify(version)} (${type}), which is no version number`,
    )
  })
}

async function hasAllIndexes(db: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'index'
  `.execute(db)
  const names = new Set(rows.map((row) => row.name))
  return INDEXES.every((name) => names.has(name))
}

function columnsIn(ddl: string): string[] {
  return Array.from(ddl.matchAll(/^ {4}([a-z_]+) /gm), ([, name]) => name ?? '')
}

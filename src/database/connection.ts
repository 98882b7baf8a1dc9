import fs from 'node:fs'

import SqliteDatabase from 'better-sqlite3'
import type { Database as RawConnection } from 'better-sqlite3'

import { DatabaseError } from '../errors.ts'
import type { Logger } from './logger.ts'
import { addSearchFunctions } from './search-functions.ts'
import { sqliteCode } from './sqlite-errors.ts'
import { StatementCache } from './statement-cache.ts'

/** When a COMMIT waits for the disk: see `OpenStoreOptions.synchronous`. */
export type Synchronous = 'FULL' | 'NORMAL'

/** One open connection with its prepared statements. */
export interface Connection {
  readonly raw: RawConnection
  readonly statements: StatementCache
}

/**
 * How long the driver itself waits for a lock, standing still in the event loop. Short for the
 * writer, whose waiting is done by awaited retries; longer for readers, who only ever wait for a
 * crash recovery to end.
 */
const WRITER_TIMEOUT_MS = 5
const READER_TIMEOUT_MS = 50

/**
 * Twice SQLite's own: 50 small commits, after which the write side makes a checkpoint, fill about a
 * thousand pages, and both would make one. Big transactions still get theirs.
 */
const AUTOCHECKPOINT_PAGES = 2000

const JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024

/** Opens a read-only connection; the file must exist. Nothing in the file changes. */
export function connectReader(path: string): Connection {
  const raw = new SqliteDatabase(path, {
    readonly: true,
    fileMustExist: true,
    timeout: READER_TIMEOUT_MS,
  })
  addSearchFunctions(raw)
  return { raw, statements: new StatementCache(raw) }
}

/**
 * Removes the empty WAL and its index that a read-only connection leaves beside a file in WAL mode.
 * Only a writing connection that is the last one does so as it closes, and SQLite alone can tell
 * whether it is the last. Where that is not possible they stay; they do no harm.
 */
export function removeEmptyWal(path: string): void {
  if (fs.statSync(`${path}-wal`, { throwIfNoEntry: false })?.size !== 0) return
  try {
    readOnceAsWriter(path)
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
  }
}

/**
 * Takes back what a writer that crashed in rollback mode has left half done; a reader may not. A
 * journal that a living writer is using stays.
 */
export function rollBackCrashed(path: string): void {
  if (fs.existsSync(`${path}-journal`)) readOnceAsWriter(path)
}

function readOnceAsWriter(path: string): void {
  const raw = new SqliteDatabase(path, { fileMustExist: true, timeout: WRITER_TIMEOUT_MS })
  try {
    raw.prepare('select 1 from sqlite_master').get()
  } finally {
    raw.close()
  }
}

/** Opens the writing connection and sets its pragmas; the journal mode is `enableWal`'s matter. */
export function connectWriter(path: string, synchronous: Synchronous): Connection {
  const raw = new SqliteDatabase(path, { fileMustExist: true, timeout: WRITER_TIMEOUT_MS })
  try {
    setPragma(raw, 'foreign_keys', 'ON', 1)
    // The driver's build would use NORMAL in WAL mode; the Python agent has FULL.
    setPragma(raw, 'synchronous', synchronous, synchronous === 'FULL' ? 2 : 1)
    setPragma(raw, 'wal_autocheckpoint', String(AUTOCHECKPOINT_PAGES), AUTOCHECKPOINT_PAGES)
    setPragma(raw, 'journal_size_limit', String(JOURNAL_SIZE_LIMIT), JOURNAL_SIZE_LIMIT)
    // The driver's defensive mode keeps SQL off the tables in which FTS5 stores an index, and those
    // that another SQLite wrote have to be corrected (`trigram-nul.ts`). Not turned on and off around
    // each correction: that makes SQLite prepare every statement anew, a millisecond each time.
    raw.unsafeMode()
    addSearchFunctions(raw)
  } catch (error) {
    raw.close()
    throw error
  }
  return { raw, statements: new StatementCache(raw) }
}

/** What somebody may have set on a connection for the time it is open. */
export type ConnectionSettings = Readonly<Record<(typeof SETTINGS)[number], number>>

const SETTINGS = ['max_page_count', 'secure_delete'] as const

export function settingsOf({ raw }: Connection): ConnectionSettings {
  const values = SETTINGS.map((name) => [name, raw.pragma(name, { simple: true })])
  return Object.fromEntries(values) as ConnectionSettings
}

/** Makes one writing connection behave as another. */
export function applySettings({ raw }: Connection, settings: ConnectionSettings): void {
  for (const name of SETTINGS) raw.pragma(`${name} = ${settings[name]}`)
}

function setPragma(
  raw: RawConnection,
  name: string,
  value: string,
  expected: number | string,
): void {
  raw.pragma(`${name} = ${value}`)
  const actual = raw.pragma(name, { simple: true })
  if (actual !== expected) {
    throw new DatabaseError('SQLITE_ERROR', `PRAGMA ${name} stayed ${String(actual)}`)
  }
}

const warnedPaths = new Set<string>()

/**
 * Puts the file into WAL mode, or, where its file system cannot carry WAL, leaves it in DELETE mode
 * with one warning per file and process (spec §18). A file that is in WAL mode already stays in it.
 */
export function enableWal(connection: Connection, path: string, logger: Logger): 'wal' | 'delete' {
  if (journalMode(connection.raw) === 'wal') return 'wal'
  const cause = whyNotWal(path)
  if (cause === undefined) return 'wal'
  leaveWal(path)
  if (!warnedPaths.has(path)) {
    warnedPaths.add(path)
    logger.warn(
      { path, err: cause },
      'this file system cannot carry WAL (NFS, SMB or FUSE?); using the rollback journal: readers and writers will wait for each other',
    )
  }
  return 'delete'
}

/**
 * Tries WAL on a connection of its own: one that has failed to open a WAL fails ever after. Setting
 * the mode succeeds anywhere; it is the first access that makes the WAL index, which needs shared
 * memory and locks.
 */
function whyNotWal(path: string): unknown {
  const raw = new SqliteDatabase(path, { fileMustExist: true, timeout: WRITER_TIMEOUT_MS })
  try {
    const mode = raw.pragma('journal_mode = WAL', { simple: true })
    raw.prepare('select 1 from sqlite_master').get()
    if (mode === 'wal') return undefined
    return new DatabaseError('SQLITE_ERROR', `PRAGMA journal_mode stayed ${String(mode)}`)
  } catch (error) {
    if (!cannotCarryWal(error)) throw error
    return error
  } finally {
    raw.close()
  }
}

/** Left in WAL mode the file could not be read here at all. An exclusive connection needs no WAL index. */
function leaveWal(path: string): void {
  const raw = new SqliteDatabase(path, { fileMustExist: true, timeout: WRITER_TIMEOUT_MS })
  try {
    raw.pragma('locking_mode = EXCLUSIVE')
    setPragma(raw, 'journal_mode', 'DELETE', 'delete')
  } finally {
    raw.close()
  }
}

function journalMode(raw: RawConnection): unknown {
  return raw.pragma('journal_mode', { simple: true })
}

function cannotCarryWal(error: unknown): boolean {
  if (sqliteCode(error) === undefined) return false
  return /locking protocol|not authorized|disk i\/o error/i.test((error as Error).message)
}

import { dirname } from 'node:path'

import SqliteDatabase from 'better-sqlite3'

import {
  CannotOpenError,
  ConstraintError,
  DatabaseCorruptError,
  DatabaseError,
  FileMovedError,
  InvalidInputError,
  NotADatabaseError,
  ReadonlyError,
  StorageFullError,
  StorageIoError,
} from '../errors.ts'
import { needsSideFiles, whyCannotOpen } from './files.ts'

/** The SQLite result code of a driver error, for example `SQLITE_BUSY_SNAPSHOT`. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof SqliteDatabase.SqliteError ? error.code : undefined
}

/** Whether another connection's lock is the cause, so that trying again can help. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
}

/**
 * The typed error for a driver error. Busy errors come back as they are: whether they are final is
 * for the retry to say. What the driver did not throw comes back as it is, too.
 */
export function toStoreError(error: unknown, path: string): unknown {
  const code = sqliteCode(error)
  const cause = { cause: error }
  if (code === undefined) return isBindError(error) ? bindError(error as Error) : error
  if (isBusy(error)) return error
  const message = (error as Error).message
  if (lacksSideFiles(code)) return new CannotOpenError(path, needsSideFiles(dirname(path)), cause)
  if (code === CRASHED) {
    return new CannotOpenError(
      path,
      'a writer crashed; open it for writing to undo its half',
      cause,
    )
  }
  if (code === 'SQLITE_CORRUPT_VTAB' || isIndexFailure(code, message))
    return new DatabaseCorruptError('index', message, cause)
  switch (primaryCode(code)) {
    case 'SQLITE_FULL':
      return new StorageFullError(cause)
    case 'SQLITE_IOERR':
      return new StorageIoError(code, cause)
    case 'SQLITE_CORRUPT':
      return new DatabaseCorruptError('file', message, cause)
    case 'SQLITE_NOTADB':
      return new NotADatabaseError(path, cause)
    case 'SQLITE_READONLY':
      return code === 'SQLITE_READONLY_DBMOVED'
        ? new FileMovedError(path, cause)
        : new ReadonlyError('the file or its folder cannot be written', cause)
    case 'SQLITE_CANTOPEN':
      return new CannotOpenError(path, whyCannotOpen(path) ?? message, cause)
    case 'SQLITE_CONSTRAINT':
      return new ConstraintError(code, message, cause)
    case 'SQLITE_PERM':
    case 'SQLITE_AUTH':
      return new CannotOpenError(path, message, cause)
    default:
      return new DatabaseError(code, message, cause)
  }
}

/**
 * Damage to a full-text index that FTS5 itself stumbles over. A constraint that is broken in a table of
 * ours is named in the message; one broken in the tables behind an index is not.
 */
function isIndexFailure(code: string, message: string): boolean {
  if (code.startsWith('SQLITE_CONSTRAINT')) return message === 'constraint failed'
  return (
    code === 'SQLITE_ERROR' &&
    /^(?:no such table: (?:main\.)?messages_fts|vtable constructor failed: messages_fts|invalid fts5 file format)/.test(
      message,
    )
  )
}

/** What a reader meets where a writer crashed in rollback mode. */
const CRASHED = 'SQLITE_READONLY_ROLLBACK'

/** Whether a writing connection must first take back what a crashed one left half done. */
export function needsRollback(error: unknown): boolean {
  return sqliteCode(error) === CRASHED
}

/** `SQLITE_IOERR_WRITE` → `SQLITE_IOERR`. */
function primaryCode(code: string): string {
  const second = code.indexOf('_', 'SQLITE_'.length)
  return second === -1 ? code : code.slice(0, second)
}

/** Even a reader makes the WAL and its index when they are missing, and repairs them after a crash. */
function lacksSideFiles(code: string): boolean {
  return /^SQLITE_READONLY_(?:DIRECTORY|CANTINIT|CANTLOCK|RECOVERY)$/.test(code)
}

function isBindError(error: unknown): boolean {
  return (
    (error instanceof TypeError && /can only bind|NumberOption|bind/.test(error.message)) ||
    (error instanceof RangeError && /parameter|BigInt|bind|too large/i.test(error.message))
  )
}

function bindError(error: Error): InvalidInputError {
  return new InvalidInputError('value', `cannot be stored: ${error.message}`, { cause: error })
}

// One file, longer than others: whoever handles errors reads them as one list, and nothing in it has logic.

/** Every error this package throws on purpose. `code` is literal and stable; `message` says what happened. */
export abstract class StoreError extends Error {
  abstract readonly code: string
  override get name(): string {
    return this.constructor.name
  }
}

/** The caller passed something the store cannot take. Nothing was changed. */
export class InvalidInputError extends StoreError {
  readonly code: 'INVALID_INPUT' | 'INVALID_QUERY' = 'INVALID_INPUT'
  /** The name of the offending argument or field. */
  readonly field: string
  constructor(field: string, problem: string, options?: ErrorOptions) {
    super(`${field} ${problem}`, options)
    this.field = field
  }
}

/** A search query that cannot be answered, however it is read; `position` is where, in UTF-16 units. */
export class InvalidQueryError extends InvalidInputError {
  override readonly code = 'INVALID_QUERY'
  /** In UTF-16 units, from 0. */
  readonly position: number
  constructor(problem: string, position: number, options?: ErrorOptions) {
    super('query', problem, options)
    this.position = position
  }
}

/** There is no such session, or somebody has deleted it meanwhile. Nothing was changed. */
export class SessionNotFoundError extends StoreError {
  readonly code = 'SESSION_NOT_FOUND'
  readonly sessionId: string
  constructor(sessionId: string, options?: ErrorOptions) {
    super(`no session ${JSON.stringify(sessionId)}`, options)
    this.sessionId = sessionId
  }
}

/** A title is unique over the whole file (spec §8); `holderId` is the session that has it. */
export class TitleConflictError extends StoreError {
  readonly code = 'TITLE_CONFLICT'
  readonly title: string
  readonly holderId: string
  constructor(title: string, holderId: string, options?: ErrorOptions) {
    super(`title ${JSON.stringify(title)} is already in use by session ${holderId}`, options)
    this.title = title
    this.holderId = holderId
  }
}

/** The process that holds the file's write lock, where the system tells (Linux). */
export interface LockHolder {
  readonly pid: number
  /** The name of its program, when it may be read. */
  readonly command: string | undefined
}

/** A title is taken, and whose it is must not be told: it may be another person's session. */
export class TitleTakenError extends StoreError {
  readonly code = 'TITLE_TAKEN'
  readonly title: string
  constructor(title: string, options?: ErrorOptions) {
    super(`title ${JSON.stringify(title)} is already in use`, options)
    this.title = title
  }
}

/** A change of an agent's history does not fit what is stored (another change, another end). Nothing was changed. */
export class HistoryConflictError extends StoreError {
  readonly code = 'HISTORY_CONFLICT'
  /** The operation that was to be applied. */
  readonly operationId: string
  constructor(operationId: string, problem: string, options?: ErrorOptions) {
    super(`history operation ${JSON.stringify(operationId)} ${problem}`, options)
    this.operationId = operationId
  }
}

/** Somebody else has taken the work over, because its lease was not renewed in time. */
export class LeaseLostError extends StoreError {
  readonly code = 'LEASE_LOST'
  /** What was leased: `session:<id>` or `turn:<number>`. */
  readonly lease: string
  constructor(lease: string, options?: ErrorOptions) {
    super(`somebody else has taken over ${lease}`, options)
    this.lease = lease
  }
}

/** A session belongs to one Telegram topic at most (spec §16); `chatId` and `threadId` name it. */
export class SessionBoundError extends StoreError {
  readonly code = 'SESSION_BOUND'
  readonly sessionId: string
  readonly chatId: string
  readonly threadId: string
  constructor(sessionId: string, chatId: string, threadId: string, options?: ErrorOptions) {
    super(`session ${sessionId} is already linked to topic ${threadId} of chat ${chatId}`, options)
    this.sessionId = sessionId
    this.chatId = chatId
    this.threadId = threadId
  }
}

/** Another connection held the lock longer than the caller was ready to wait. Nothing was changed. */
export class DatabaseBusyError extends StoreError {
  readonly code = 'DATABASE_BUSY'
  /** How long, all attempts and pauses together. */
  readonly waitedMs: number
  /** How many times the lock was asked for. */
  readonly attempts: number
  /** Who has it, on Linux and where that can be told. */
  readonly holder: LockHolder | undefined
  constructor(
    waitedMs: number,
    attempts: number,
    options?: ErrorOptions & { holder?: LockHolder | undefined },
  ) {
    const holder = options?.holder
    const by = holder ? `process ${holder.pid} (${holder.command ?? '?'})` : 'another connection'
    super(
      `the database stayed locked by ${by} for ${Math.round(waitedMs)} ms (${attempts} attempts)`,
      options,
    )
    this.waitedMs = waitedMs
    this.attempts = attempts
    this.holder = holder
  }
}

/** There was no room on the disk. Nothing was changed; with room again the store goes on. */
export class StorageFullError extends StoreError {
  readonly code = 'STORAGE_FULL'
  constructor(options?: ErrorOptions) {
    super('the disk (or the page limit of the file) is full; nothing was written', options)
  }
}

/** The operating system refused a read, a write or a sync. */
export class StorageIoError extends StoreError {
  readonly code = 'STORAGE_IO'
  /** SQLite's extended result code, such as `SQLITE_IOERR_WRITE`. */
  readonly sqliteCode: string
  constructor(sqliteCode: string, options?: ErrorOptions) {
    super(`the file system failed while SQLite used the file (${sqliteCode})`, options)
    this.sqliteCode = sqliteCode
  }
}

/** `scope` is `index` when only a full-text index is damaged and can be rebuilt, `file` when pages are. */
export class DatabaseCorruptError extends StoreError {
  readonly code = 'DATABASE_CORRUPT'
  readonly scope: 'index' | 'file'
  constructor(scope: 'index' | 'file', detail: string, options?: ErrorOptions) {
    super(
      scope === 'index'
        ? `a full-text index is damaged: ${detail}`
        : `the file is damaged: ${detail}`,
      options,
    )
    this.scope = scope
  }
}

/** What stands at the path is no SQLite database, or an encrypted one. */
export class NotADatabaseError extends StoreError {
  readonly code = 'NOT_A_DATABASE'
  readonly path: string
  constructor(path: string, options?: ErrorOptions) {
    super(`${path} is not an SQLite database; it was left as it is`, options)
    this.path = path
  }
}

/** The path cannot be opened: a directory, no permission, absent although it must exist. */
export class CannotOpenError extends StoreError {
  readonly code = 'CANNOT_OPEN'
  /** As it was opened: absolute, behind links. */
  readonly path: string
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`cannot open ${path}: ${reason}`, options)
    this.path = path
  }
}

/** The file was upgraded by a newer Hermes. It can be read, not written. */
export class SchemaTooNewError extends StoreError {
  readonly code = 'SCHEMA_TOO_NEW'
  /** What `schema_version` says. */
  readonly version: number
  /** The highest version this package writes: `SCHEMA_VERSION`. */
  readonly supported: number
  constructor(version: number, supported: number, options?: ErrorOptions) {
    super(
      `the file is at schema version ${version}, this package writes up to version ${supported}; here it can only be read`,
      options,
    )
    this.version = version
    this.supported = supported
  }
}

/** `schema_version` holds something that is no version number, or the file belongs to another program. */
export class SchemaUnreadableError extends StoreError {
  readonly code = 'SCHEMA_UNREADABLE'
  constructor(problem: string, options?: ErrorOptions) {
    super(`${problem}; the file was left as it is`, options)
  }
}

/** Opened read-only, but the file is older than the code can read. */
export class MigrationRequiredError extends StoreError {
  readonly code = 'MIGRATION_REQUIRED'
  /** What `schema_version` says. */
  readonly version: number
  constructor(version: number, options?: ErrorOptions) {
    super(
      `the file is at schema version ${version} or incomplete; open it once for writing to upgrade it`,
      options,
    )
    this.version = version
  }
}

/** A migration step failed. All steps were rolled back together. */
export class MigrationFailedError extends StoreError {
  readonly code = 'MIGRATION_FAILED'
  /** The file name of the step, such as `0004_unique_titles`, or `repair`. */
  readonly step: string
  constructor(step: string, options?: ErrorOptions) {
    super(`migration ${step} failed; the file is as it was before`, options)
    this.step = step
  }
}

/** A write was asked of a store that was opened read-only, or of a file nobody may write. */
export class ReadonlyError extends StoreError {
  readonly code = 'READONLY'
  constructor(detail = 'the store was opened read-only', options?: ErrorOptions) {
    super(detail, options)
  }
}

/** The store was closed before the call, or before a read or a backup came to its end. */
export class StoreClosedError extends StoreError {
  readonly code = 'STORE_CLOSED'
  constructor(options?: ErrorOptions) {
    super('the store is closed', options)
  }
}

/**
 * The outer store was used inside a transaction callback, a transaction after it ended, or Kysely's own
 * ways to begin, end or close one.
 */
export class TransactionMisuseError extends StoreError {
  readonly code = 'TRANSACTION_MISUSE'
}

/** A rule the database itself enforces was broken; `sqliteCode` names it. Nothing was changed. */
export class ConstraintError extends StoreError {
  readonly code = 'CONSTRAINT'
  /** SQLite's extended result code, such as `SQLITE_CONSTRAINT_UNIQUE`. */
  readonly sqliteCode: string
  constructor(sqliteCode: string, detail: string, options?: ErrorOptions) {
    super(`the database refused the change: ${detail}`, options)
    this.sqliteCode = sqliteCode
  }
}

/**
 * The file, or its write-ahead log, was deleted, moved or replaced while the store was open. What was
 * acknowledged before is in the file that was moved; the store writes no more.
 */
export class FileMovedError extends StoreError {
  readonly code = 'FILE_MOVED'
  /** The file or the `-wal` beside it. */
  readonly path: string
  constructor(path: string, options?: ErrorOptions) {
    super(`${path} was deleted, moved or replaced while the store was open`, options)
    this.path = path
  }
}

/** The worker thread that ran a query died, and so did the one that ran it again. */
export class ReadWorkerError extends StoreError {
  readonly code = 'READ_WORKER'
  constructor(options?: ErrorOptions) {
    super('the worker thread that ran the query died', options)
  }
}

/** The worker thread died in the COMMIT of a long write: it is not known whether it was stored. */
export class WriteWorkerError extends StoreError {
  readonly code = 'WRITE_WORKER'
  constructor(options?: ErrorOptions) {
    super('the worker thread that stored it died; look whether it is there', options)
  }
}

/** An SQLite error with no class of its own here. */
export class DatabaseError extends StoreError {
  readonly code = 'DATABASE'
  /** SQLite's extended result code. */
  readonly sqliteCode: string
  constructor(sqliteCode: string, detail: string, options?: ErrorOptions) {
    super(`${detail} (${sqliteCode})`, options)
    this.sqliteCode = sqliteCode
  }
}

/** This Node.js is too old for the driver; thrown when the package is imported. */
export class UnsupportedRuntimeError extends StoreError {
  readonly code = 'UNSUPPORTED_RUNTIME'
  constructor(found: string, needed: string, options?: ErrorOptions) {
    super(`hermes-session-store needs Node.js ${needed} or newer; this is ${found}`, options)
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'

import { Kysely, type CompiledQuery, type Transaction } from 'kysely'

import { ReadonlyError, StoreClosedError, TransactionMisuseError } from '../errors.ts'
import type { StoreError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import type { BackupOptions } from './backup.ts'
import { withBusyRetry, type RetryPolicy } from './busy-retry.ts'
import type { FileProblem } from './check-file.ts'
import {
  connectReader,
  removeEmptyWal,
  rollBackCrashed,
  type Connection,
  type Synchronous,
} from './connection.ts'
import { allowDirectReads } from './direct-reads.ts'
import { StoreDialect, type ConnectionSource } from './dialect.ts'
import { FileTasks } from './file-tasks.ts'
import { HeavyDialect } from './heavy-dialect.ts'
import { bytesOf, HeavyReads } from './heavy-reads.ts'
import type { Logger } from './logger.ts'
import { needsRollback, toStoreError } from './sqlite-errors.ts'
import { Statistics, type StoreStatistics } from './statistics.ts'
import type { WriteHints } from './write-batch.ts'
import { WriteSide } from './write-side.ts'

const IDLE_READERS = 2

export interface StoreDatabaseParts {
  readonly path: string
  readonly reader: Connection
  /** Absent in a read-only store; `refusal` then says why. */
  readonly writer: Connection | undefined
  readonly synchronous: Synchronous
  readonly refusal: (() => StoreError) | undefined
  readonly retry: RetryPolicy
  readonly logger: Logger
  readonly statistics?: Statistics
}

/** Marks the flow of a write callback, so that the outer store can tell it is called from inside. */
interface WriteScope {
  active: boolean
}

/**
 * One open state.db: a reader beside a writer, so that a read never waits for a write. Everything
 * that changes the file goes through `write`.
 */
export class StoreDatabase {
  readonly path: string
  readonly read: Kysely<Database>
  /** Single reading statements that may be slow; see `Handle.heavy`. */
  readonly heavy: Kysely<Database>
  readonly statistics: Statistics
  readonly #parts: StoreDatabaseParts
  readonly #heavyReads: HeavyReads
  readonly #fileTasks: FileTasks
  readonly #writeSide: WriteSide | undefined
  readonly #scope = new AsyncLocalStorage<WriteScope>()
  readonly #idleReaders: Connection[] = []
  #closing: Promise<void> | undefined
  #closed = false
  #endGauge: (() => void) | undefined

  constructor(parts: StoreDatabaseParts) {
    const { path, reader, writer, synchronous, retry, logger } = parts
    this.path = path
    this.#parts = parts
    this.statistics = parts.statistics ?? new Statistics()
    this.read = new Kysely({
      dialect: new StoreDialect(this.#readSource(), { begin: 'begin', concurrent: true }),
    })
    allowDirectReads(this.read, (sql, parameters) => this.#readDirectly(sql, parameters))
    this.#fileTasks = new FileTasks(path, logger)
    this.#heavyReads = new HeavyReads(path, () => reader, logger)
    this.heavy = new Kysely({ dialect: new HeavyDialect((...query) => this.#runHeavy(...query)) })
    this.#writeSide =
      writer &&
      new WriteSide({
        path,
        writer,
        synchronous,
        retry,
        logger,
        statistics: this.statistics,
        inScope: (run) => this.#inScope(run),
        assertInScope: () => this.#assertInScope(),
      })
  }

  /**
   * Stores all that `change` does, or nothing. Writes asked for at the same moment share one
   * `begin immediate` transaction, in the order they were asked for, and each fails alone; the promise
   * resolves after its COMMIT. `change` runs again when another connection's lock, another write's
   * failure or a damaged index was in the way, so it must do nothing but await queries on the
   * transaction it is given.
   * @throws {DatabaseBusyError} when the lock stayed taken for longer than the store's patience.
   * @throws {ReadonlyError | SchemaTooNewError} when the store cannot write.
   * @throws {DatabaseCorruptError | FileMovedError} when the file was found damaged or has gone from
   *   its path; nothing is written from then on.
   * @throws {StoreClosedError} after `close()`.
   * @throws {TransactionMisuseError} when called from inside another write of this store.
   */
  async write<T>(
    change: (trx: Transaction<Database>) => Promise<T>,
    hints?: WriteHints<T>,
  ): Promise<T> {
    return this.#writable('a write').write(change, hints)
  }

  /**
   * From now on writes are refused once a newer program has upgraded the file beyond this version.
   */
  writeUpTo(schemaVersion: number): void {
    this.#writeSide?.writeUpTo(schemaVersion)
  }

  /**
   * Rewrites the file without its free pages, in another thread; the writes asked for meanwhile wait.
   * @throws {DatabaseBusyError} when another connection did not let go of its lock.
   * @throws what `write` throws for a store that cannot write.
   */
  async vacuum(): Promise<void> {
    await this.#writable('vacuum()').vacuum()
  }

  stats(): StoreStatistics {
    return { ...this.statistics.snapshot(), walBytes: this.#walBytes() }
  }

  /** Adds the size of the WAL to the metrics, until `close()`. */
  observeWal(): void {
    this.#endGauge = this.statistics.telemetry.gaugeWal(() => this.#walBytes())
  }

  #walBytes(): number {
    return bytesOf(`${this.path}-wal`)
  }

  /** What is wrong with the file, read as a whole in another thread; empty when nothing is. */
  async check(signal?: AbortSignal): Promise<readonly FileProblem[]> {
    this.#assertReadable()
    try {
      return await this.#fileTasks.check(signal)
    } catch (error) {
      throw this.#readError(error)
    }
  }

  /** Copies the file to `target`, in another thread; see `backupFile`. */
  async backup(target: string, options: BackupOptions): Promise<void> {
    this.#assertReadable()
    try {
      await this.#fileTasks.backup(target, options)
    } catch (error) {
      throw this.#readError(error)
    }
  }

  /** Waits for the writes already asked for, then closes every connection. Safe to call twice. */
  async close(): Promise<void> {
    this.#assertOutside('close()')
    this.#closing ??= this.#close()
    return this.#closing
  }

  #writable(what: string): WriteSide {
    this.#assertOutside(what)
    if (this.#closing) throw new StoreClosedError()
    if (!this.#writeSide) throw this.#parts.refusal?.() ?? new ReadonlyError()
    return this.#writeSide
  }

  async #inScope<T>(run: () => Promise<T>): Promise<T> {
    const scope: WriteScope = { active: true }
    try {
      return await this.#scope.run(scope, run)
    } finally {
      scope.active = false
    }
  }

  async #close(): Promise<void> {
    await this.#writeSide?.idle()
    this.#closed = true
    this.#endGauge?.()
    await Promise.all([this.#heavyReads.close(), this.#fileTasks.close(), this.#writeSide?.close()])
    this.#writeSide?.checkpoint()
    // A reader that is lent to a stream or a transaction is closed when it comes back.
    for (const reader of [this.#parts.reader, ...this.#idleReaders]) reader.raw.close()
    // Last, so that SQLite folds the WAL into the file and removes it.
    if (this.#parts.writer) this.#parts.writer.raw.close()
    else removeEmptyWal(this.path)
  }

  /** The next write's turn may have come in the same transaction: a late query must not slip into it. */
  #assertInScope(): void {
    if (this.#scope.getStore()?.active !== false) return
    throw new TransactionMisuseError(
      'a query was started after its write had ended; await it inside',
    )
  }

  #assertOutside(what: string): void {
    if (!this.#scope.getStore()?.active) return
    throw new TransactionMisuseError(
      `${what} on the store itself was asked for inside a transaction; use the transaction's own handle`,
    )
  }

  #assertReadable(): void {
    if (this.#closed) throw new StoreClosedError()
    this.#assertOutside('a query')
  }

  async #runHeavy(query: CompiledQuery, signal?: AbortSignal): Promise<unknown[]> {
    this.#assertReadable()
    const { telemetry } = this.statistics
    const startedAt = performance.now()
    try {
      return await telemetry.span('hermes_store.read', { 'db.query.text': query.sql }, () =>
        withBusyRetry(this.#parts.retry, async () => {
          try {
            return await this.#heavyReads.run(query, signal)
          } catch (error) {
            if (!this.#undidCrash(error)) throw error
            return this.#heavyReads.run(query, signal)
          }
        }),
      )
    } catch (error) {
      throw this.#readError(error)
    } finally {
      this.statistics.ran(query.sql, performance.now() - startedAt)
    }
  }

  #readDirectly(sql: string, parameters: readonly unknown[]): unknown[] | undefined {
    this.#assertReadable()
    const startedAt = performance.now()
    try {
      return this.#parts.reader.statements.get(sql).all(parameters)
    } catch {
      return undefined // reading changes nothing: the usual way meets the same error and names it
    } finally {
      this.statistics.ran(sql, performance.now() - startedAt)
    }
  }

  #readSource(): ConnectionSource {
    const { path, reader, retry, logger } = this.#parts
    return {
      shared: () => {
        this.#assertReadable()
        return reader
      },
      assertUsable: () => {},
      dedicated: () => {
        this.#assertReadable()
        return this.#idleReaders.pop() ?? connectReader(path)
      },
      release: (connection) => {
        if (this.#closed || this.#idleReaders.length >= IDLE_READERS) connection.raw.close()
        else this.#idleReaders.push(connection)
      },
      run: (statement) => withBusyRetry(retry, () => this.#undoingCrash(statement)),
      toError: (error) => this.#readError(error),
      ran: (sql, tookMs) => this.statistics.ran(sql, tookMs),
      rollbackFailed: (error) => logger.error({ err: error, path }, 'rollback failed'),
    }
  }

  #undoingCrash<T>(statement: () => T): T {
    try {
      return statement()
    } catch (error) {
      if (!this.#undidCrash(error)) throw error
      return statement()
    }
  }

  /** In rollback mode another process's crash stops every reader until a writer has undone its half. */
  #undidCrash(error: unknown): boolean {
    if (!this.#parts.writer || !needsRollback(error)) return false
    rollBackCrashed(this.path)
    return true
  }

  #readError(error: unknown): unknown {
    const typed = toStoreError(error, this.path)
    this.#writeSide?.stopAfter(typed)
    if (!(typed instanceof ReadonlyError)) return typed
    return new ReadonlyError('store.db only reads; write through store.transaction()', {
      cause: error,
    })
  }
}

import { Kysely, type Transaction } from 'kysely'

import {
  DatabaseBusyError,
  FileMovedError,
  SchemaTooNewError,
  type DatabaseCorruptError,
  type StoreError,
} from '../errors.ts'
import type { Database } from '../schema/database.ts'
import type { RetryPolicy } from './busy-retry.ts'
import type { Connection, Synchronous } from './connection.ts'
import { setAsideIndex } from './damaged-index.ts'
import { StoreDialect } from './dialect.ts'
import { FileGuard } from './file-guard.ts'
import { runFileTask } from './file-task.ts'
import type { Logger } from './logger.ts'
import { LongWrites } from './long-writes.ts'
import { isBusy, sqliteCode, toStoreError } from './sqlite-errors.ts'
import type { CommittedBatch, Statistics } from './statistics.ts'
import { runnerOn, type RunAtOnce } from './write-at-once.ts'
import { isFatal, type Change, type WriteHints } from './write-batch.ts'
import { WriteQueue } from './write-queue.ts'

const CHECKPOINT_EVERY_COMMITS = 50
const LONG_TRANSACTION_MS = 500
const VERSION = 'select max(version) as version from schema_version'

export interface WriteSideParts {
  readonly path: string
  readonly writer: Connection
  readonly synchronous: Synchronous
  readonly retry: RetryPolicy
  readonly logger: Logger
  readonly statistics: Statistics
  /** Runs a change so that a call to the outer store from inside can be told (and refused). */
  readonly inScope: <T>(run: () => Promise<T>) => Promise<T>
  /** @throws {TransactionMisuseError} in the flow of a change that has ended. */
  readonly assertInScope: () => void
}

/** The one connection that writes: its queue, its checkpoints, and when it must stop. */
export class WriteSide {
  readonly #parts: WriteSideParts
  readonly #queue: WriteQueue
  readonly #long: LongWrites
  readonly #guard: FileGuard
  #commitsSinceCheckpoint = 0
  #stopped: StoreError | undefined
  #newestSchema: number | undefined

  constructor(parts: WriteSideParts) {
    this.#parts = parts
    this.#guard = new FileGuard(parts.path)
    const { path, writer, synchronous, logger, statistics, assertInScope } = parts
    const ran = statistics.ran.bind(statistics)
    this.#long = new LongWrites({ path, writer, synchronous, logger, assertInScope, ran })
    this.#queue = new WriteQueue({
      db: new Kysely({ dialect: this.#dialect() }),
      writer: parts.writer,
      retry: parts.retry,
      runAtOnce: this.#runAtOnce(),
      runLong: (change) => this.#long.run(change),
      inScope: parts.inScope,
      assertWritable: () => this.#assertWritable(),
      assertSchema: () => this.#assertSchema(),
      assertStored: () => this.#assertStored(),
      setAsideIndex: (trx, damage) => this.#setAsideIndex(trx, damage),
      observer: {
        retried: () => parts.statistics.retried(),
        committed: (batch) => this.#committed(batch),
        failed: (error) => this.#failed(error),
      },
    })
  }

  /** @throws what made the store stop writing, if anything did. */
  async write<T>(change: Change<T>, hints?: WriteHints<T>): Promise<T> {
    if (this.#stopped) throw this.#stopped
    return this.#parts.statistics.telemetry.span('hermes_store.write', {}, () =>
      this.#queue.push(change, hints),
    )
  }

  /** @throws {DatabaseBusyError} when another connection did not let go of its lock. */
  async vacuum(): Promise<void> {
    const startedAt = performance.now()
    try {
      await this.#queue.alone(async () => {
        this.#assertWritable()
        await runFileTask({ kind: 'vacuum', path: this.#parts.path }, this.#parts.logger)
      })
    } catch (error) {
      if (!isBusy(error)) throw toStoreError(error, this.#parts.path)
      throw new DatabaseBusyError(performance.now() - startedAt, 1, { cause: error })
    }
  }

  /** From now on nothing is written to a file whose schema has a higher version. */
  writeUpTo(schemaVersion: number): void {
    this.#newestSchema = schemaVersion
  }

  /** After damage, or when the file has gone from its path, nothing is written any more. */
  stopAfter(error: unknown): void {
    if (this.#stopped || !isFatal(error)) return
    this.#stopped = error
    this.#parts.logger.error({ err: error, path: this.#parts.path }, 'the store stops writing')
    // What was committed before is safe once it is in the file itself.
    if (error instanceof FileMovedError) this.#copyWal()
  }

  /** Settles when everything asked for so far has been stored or rejected. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** Ends the other thread and its connection; to be called when nothing is written any more. */
  close(): Promise<void> {
    return this.#long.close()
  }

  /** PASSIVE: never waits for readers. Whatever it cannot copy now, a later one will. */
  checkpoint(): void {
    try {
      this.#parts.writer.raw.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'checkpoint skipped')
    }
  }

  #runAtOnce(): RunAtOnce {
    const run = runnerOn(this.#parts.writer.statements)
    return (sql, parameters) => {
      try {
        return run(sql, parameters)
      } catch (error) {
        throw toStoreError(error, this.#parts.path)
      }
    }
  }

  #dialect(): StoreDialect {
    const { path, writer, logger, statistics } = this.#parts
    const source = {
      shared: () => writer,
      dedicated: () => writer,
      release: () => {},
      assertUsable: this.#parts.assertInScope,
      run: async <T>(statement: () => T) => statement(),
      toError: (error: unknown) => toStoreError(error, path),
      ran: (sql: string, tookMs: number) => statistics.ran(sql, tookMs),
      rollbackFailed: (error: unknown) => logger.error({ err: error, path }, 'rollback failed'),
    }
    return new StoreDialect(source, { begin: 'begin immediate', concurrent: false })
  }

  #assertWritable(): void {
    if (this.#stopped) throw this.#stopped
  }

  /** A newer Hermes may upgrade the file while it is open here. */
  #assertSchema(): void {
    const newest = this.#newestSchema
    if (newest === undefined) return
    const row = this.#parts.writer.statements.get(VERSION).get() as { version: unknown }
    if (typeof row.version !== 'number' || row.version <= newest) return
    throw new SchemaTooNewError(row.version, newest)
  }

  /** Without its WAL the file lacks what was just committed, unless that can still be copied over. */
  #assertStored(): void {
    this.#guard.assertFileInPlace()
    if (this.#guard.isWalInPlace()) return
    const lost = new FileMovedError(`${this.#parts.path}-wal`)
    this.stopAfter(lost)
    if (!this.#copyWal()) throw lost
  }

  /** Whether the whole WAL is in the file now. An unlinked WAL can still be read by who has it open. */
  #copyWal(): boolean {
    try {
      const [result] = this.#parts.writer.raw.pragma('wal_checkpoint(FULL)') as Checkpoint[]
      return result?.busy === 0 && result.log === result.checkpointed
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error
      return false
    }
  }

  async #setAsideIndex(trx: Transaction<Database>, damage: DatabaseCorruptError): Promise<void> {
    const indexes = await setAsideIndex(trx, damage)
    this.#parts.logger.error(
      { err: damage, indexes, path: this.#parts.path },
      'a full-text index is damaged: messages are stored without it until maintenance.rebuildIndexes()',
    )
  }

  #failed(error: unknown): void {
    this.#parts.statistics.failed()
    this.stopAfter(error)
  }

  #committed(batch: CommittedBatch): void {
    const { statistics, logger, path } = this.#parts
    statistics.committed(batch)
    if (batch.heldMs > LONG_TRANSACTION_MS) {
      logger.warn(
        { ...batch, path },
        'a transaction held the write lock for long; the agent gives up on it after one second',
      )
    }
    this.#commitsSinceCheckpoint += 1
    if (this.#commitsSinceCheckpoint < CHECKPOINT_EVERY_COMMITS) return
    this.#commitsSinceCheckpoint = 0
    this.checkpoint()
  }
}

/** The row that `wal_checkpoint` answers with: pages in the WAL and how many of them are in the file. */
interface Checkpoint {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

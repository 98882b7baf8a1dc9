import type { Kysely, Transaction } from 'kysely'

import type { Handle } from './database/handle.ts'
import { withinScope } from './database/scoped-transaction.ts'
import type { StoreStatistics } from './database/statistics.ts'
import type { StoreDatabase } from './database/store-database.ts'
import { untyped, untypedTransaction } from './database/untyped.ts'
import { InvalidInputError } from './errors.ts'
import { searchObjects } from './migrations/0011_inline_indexes.ts'
import { hasOwnTables, migrateOwn } from './migrations/runner.ts'
import { AnalyticsRepository } from './repositories/analytics-repository.ts'
import { ExportRepository } from './repositories/export-repository.ts'
import { HandoffRepository } from './repositories/handoff-repository.ts'
import { LineageRepository } from './repositories/lineage-repository.ts'
import { Maintenance } from './repositories/maintenance.ts'
import { MessageRepository } from './repositories/message-repository.ts'
import { MetaRepository } from './repositories/meta-repository.ts'
import { SearchRepository } from './repositories/search-repository.ts'
import { flagOf, requireObject } from './repositories/input.ts'
import { SessionRepository } from './repositories/session-repository.ts'
import { TelegramTopicRepository } from './repositories/telegram-topic-repository.ts'
import { TitleRepository } from './repositories/title-repository.ts'
import type { Database } from './schema/database.ts'

/** The repositories, on the whole store or on one transaction of it. */
export interface Repositories {
  readonly sessions: SessionRepository
  readonly titles: TitleRepository
  readonly lineage: LineageRepository
  readonly messages: MessageRepository
  readonly search: SearchRepository
  readonly exports: ExportRepository
  readonly meta: MetaRepository
  readonly handoff: HandoffRepository
  readonly telegramTopics: TelegramTopicRepository
  readonly analytics: AnalyticsRepository
}

/** Inside `store.transaction`: the same repositories, and Kysely for anything else. */
export interface StoreTransaction extends Repositories {
  /** Typed queries, in this transaction; it ends with the callback. */
  readonly db: Transaction<Database>
}

/** How a transaction is run. */
export interface TransactionOptions {
  /**
   * For one that stores, changes or deletes much text: SQLite then works in a thread of its own and the
   * event loop goes on, at the price of a way to that thread for each statement. False by default.
   */
  long?: boolean
}

/** One open state.db. Get it from `openStore`. */
export class Store implements Repositories, AsyncDisposable {
  /** Absolute, and that of the target when a link was opened. */
  readonly path: string
  /** What `schema_version` says; above 11 the store is read-only. */
  readonly schemaVersion: number
  /** Typed queries for analytics. It only reads; a write fails with `ReadonlyError`. */
  readonly db: Kysely<Database>
  readonly sessions: SessionRepository
  readonly titles: TitleRepository
  readonly lineage: LineageRepository
  readonly messages: MessageRepository
  readonly search: SearchRepository
  readonly exports: ExportRepository
  readonly meta: MetaRepository
  readonly handoff: HandoffRepository
  readonly telegramTopics: TelegramTopicRepository
  readonly analytics: AnalyticsRepository
  readonly maintenance: Maintenance
  readonly #database: StoreDatabase

  constructor(database: StoreDatabase, schemaVersion: number) {
    this.#database = database
    database.observeWal()
    this.path = database.path
    this.schemaVersion = schemaVersion
    this.db = database.read
    const repositories = repositoriesOn(database)
    this.sessions = repositories.sessions
    this.titles = repositories.titles
    this.lineage = repositories.lineage
    this.messages = repositories.messages
    this.search = repositories.search
    this.exports = repositories.exports
    this.meta = repositories.meta
    this.handoff = repositories.handoff
    this.telegramTopics = repositories.telegramTopics
    this.analytics = repositories.analytics
    this.maintenance = new Maintenance(database, searchObjects)
  }

  /**
   * Runs `work` in one `begin immediate` transaction: all of it is stored, or nothing. It may run
   * more than once, and every other writer waits for it, so await nothing in it but the transaction.
   * @throws {DatabaseBusyError} when the lock stayed taken; `work` may be tried again later.
   * @throws {TransactionMisuseError} when the store itself is used inside, or a write is not awaited.
   * @throws {InvalidInputError} unless `work` is a function.
   */
  async transaction<T>(
    work: (tx: StoreTransaction) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    if (typeof work !== 'function') throw new InvalidInputError('work', 'must be a function')
    requireObject('options', options)
    return this.#database.write(
      (trx) => withinScope(trx, (handle) => work({ db: handle.read, ...repositoriesOn(handle) })),
      { isLong: flagOf('long', options.long, false) },
    )
  }

  /** What was written, how long it waited, what was slow, and how big the WAL is. */
  stats(): StoreStatistics {
    return this.#database.stats()
  }

  /** Adds our own tables to a file that Hermes made; the gateway adapter calls it at its start. */
  async ensureOwnTables(): Promise<void> {
    if (await hasOwnTables(untyped(this.db))) return
    await this.#database.write((trx) => migrateOwn(untypedTransaction(trx)))
  }

  /**
   * Waits for the writes already asked for and closes the file; searches, checks and backups that run
   * end with `StoreClosedError`. Calling it again does nothing.
   */
  close(): Promise<void> {
    return this.#database.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function repositoriesOn(handle: Handle): Repositories {
  return {
    sessions: new SessionRepository(handle),
    titles: new TitleRepository(handle),
    lineage: new LineageRepository(handle),
    messages: new MessageRepository(handle),
    search: new SearchRepository(handle),
    exports: new ExportRepository(handle),
    meta: new MetaRepository(handle),
    handoff: new HandoffRepository(handle),
    telegramTopics: new TelegramTopicRepository(handle),
    analytics: new AnalyticsRepository(handle),
  }
}

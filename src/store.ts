import type { Kysely, Transaction } from 'kysely'

import { withBusyRetry } from './database/busy-retry.ts'
import {
  connectReader,
  connectWriter,
  enableWal,
  removeEmptyWal,
  rollBackCrashed,
  type Connection,
} from './database/connection.ts'
import { assertWritable, createOwnerOnly, inspectFile, narrowModes } from './database/files.ts'
import type { Handle } from './database/handle.ts'
import { withinScope } from './database/scoped-transaction.ts'
import { toStoreError } from './database/sqlite-errors.ts'
import { Statistics, type StoreStatistics } from './database/statistics.ts'
import { StoreDatabase, type StoreDatabaseParts } from './database/store-database.ts'
import { loadTelemetry, type Telemetry } from './database/telemetry.ts'
import {
  CannotOpenError,
  InvalidInputError,
  MigrationRequiredError,
  ReadonlyError,
  SchemaTooNewError,
  SchemaUnreadableError,
} from './errors.ts'
import { searchObjects } from './migrations/0011_inline_indexes.ts'
import { hasOwnTables, migrate, migrateOwn } from './migrations/runner.ts'
import { inspectSchema, type SchemaState } from './migrations/schema-state.ts'
import { SCHEMA_VERSION } from './migrations/steps.ts'
import { openSettings, type OpenSettings, type OpenStoreOptions } from './open-options.ts'
import { AnalyticsRepository } from './repositories/analytics-repository.ts'
import { ExportRepository } from './repositories/export-repository.ts'
import { HandoffRepository } from './repositories/handoff-repository.ts'
import { LineageRepository } from './repositories/lineage-repository.ts'
import { Maintenance } from './repositories/maintenance.ts'
import { MessageRepository } from './repositories/message-repository.ts'
import { MetaRepository } from './repositories/meta-repository.ts'
import { SearchRepository } from './repositories/search-repository.ts'
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
  async transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    if (typeof work !== 'function') throw new InvalidInputError('work', 'must be a function')
    return this.#database.write((trx) =>
      withinScope(trx, (handle) => work({ db: handle.read, ...repositoriesOn(handle) })),
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

/**
 * Opens a state.db of any age, makes a new one where none is, and upgrades an old one; a file that
 * is up to date is opened without taking its write lock.
 * @throws {InvalidInputError | CannotOpenError | NotADatabaseError | SchemaUnreadableError} and leaves
 *   the file as it is.
 * @throws {MigrationRequiredError} when read-only and the file is older than version 11.
 * @throws {MigrationFailedError | DatabaseBusyError | StorageFullError} with the file as before.
 */
export async function openStore(options: OpenStoreOptions = {}): Promise<Store> {
  const settings = { ...openSettings(options), telemetry: await loadTelemetry() }
  const { path } = settings
  const facts = inspectFile(path)
  if (settings.readonly && !facts.exists) throw new CannotOpenError(path, 'there is no such file')
  try {
    if (facts.bytes === 0 && !settings.readonly) return await openNew(settings)
    return await openExisting(settings)
  } catch (error) {
    if (facts.exists) removeEmptyWal(path)
    throw openError(error, path)
  }
}

type Settings = OpenSettings & { readonly telemetry: Telemetry }

async function openNew(settings: Settings): Promise<Store> {
  createOwnerOnly(settings.path)
  assertWritable(settings.path)
  const writer = await openWriter(settings)
  return closingOnError([writer], async () => {
    const reader = await withBusyRetry(settings.retry, () => connectReader(settings.path))
    return closingOnError([reader], () => openWritable(settings, reader, writer))
  })
}

async function openExisting(settings: Settings): Promise<Store> {
  const { path } = settings
  if (!settings.readonly) await withBusyRetry(settings.retry, () => rollBackCrashed(path))
  const reader = await withBusyRetry(settings.retry, () => connectReader(path))
  return closingOnError([reader], async () => {
    // Nothing is touched before the file is known to be one of ours.
    const state = await inspect(settings, reader)
    if (settings.readonly || state.isNewer) return openReadonly(settings, reader, state)
    assertWritable(path)
    narrowModes(path)
    const writer = await openWriter(settings)
    return closingOnError([writer], () => openWritable(settings, reader, writer))
  })
}

function openReadonly(settings: Settings, reader: Connection, state: SchemaState): Store {
  const { version } = state
  if (!state.isReadable && state.isNewer) {
    throw new SchemaUnreadableError(`schema version ${version} lacks a column this package reads`)
  }
  if (!state.isReadable) throw new MigrationRequiredError(version)
  const refusal = state.isNewer
    ? () => new SchemaTooNewError(version, SCHEMA_VERSION)
    : () => new ReadonlyError()
  return new Store(databaseOn(settings, { reader, writer: undefined, refusal }), version)
}

async function openWritable(
  settings: Settings,
  reader: Connection,
  writer: Connection,
): Promise<Store> {
  const database = databaseOn(settings, { reader, writer, refusal: undefined })
  const state = await inspectSchema(untyped(database.read))
  if (!state.isComplete) {
    await database.write((trx) => migrate(untypedTransaction(trx), settings.onProgress))
  }
  return new Store(database, SCHEMA_VERSION)
}

function inspect(settings: Settings, reader: Connection): Promise<SchemaState> {
  const probe = databaseOn(settings, { reader, writer: undefined, refusal: undefined })
  return inspectSchema(untyped(probe.read))
}

function openWriter({ path, synchronous, retry, logger }: Settings): Promise<Connection> {
  return withBusyRetry(retry, () => {
    const writer = connectWriter(path, synchronous)
    try {
      enableWal(writer, path, logger)
      return writer
    } catch (error) {
      writer.raw.close()
      throw error
    }
  })
}

function databaseOn(
  { path, retry, logger, slowQueryMs, telemetry }: Settings,
  sides: Pick<StoreDatabaseParts, 'reader' | 'writer' | 'refusal'>,
): StoreDatabase {
  const statistics = new Statistics(slowQueryMs, telemetry)
  return new StoreDatabase({ path, retry, logger, statistics, ...sides })
}

async function closingOnError<T>(
  connections: readonly Connection[],
  open: () => T | Promise<T>,
): Promise<T> {
  try {
    return await open()
  } catch (error) {
    for (const connection of connections) connection.raw.close()
    throw error
  }
}

/** The driver also throws plain errors, for instance when the folder has gone. */
function openError(error: unknown, path: string): unknown {
  const typed = toStoreError(error, path)
  if (typed instanceof TypeError && /open database/.test(typed.message)) {
    return new CannotOpenError(path, typed.message, { cause: error })
  }
  return typed
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

// Migrations know no table types: the tables are what they make.
function untyped(db: Kysely<Database>): Kysely<unknown> {
  return db as unknown as Kysely<unknown>
}
function untypedTransaction(trx: Transaction<Database>): Transaction<unknown> {
  return trx as unknown as Transaction<unknown>
}

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
import { toStoreError } from './database/sqlite-errors.ts'
import { Statistics } from './database/statistics.ts'
import { StoreDatabase, type StoreDatabaseParts } from './database/store-database.ts'
import { loadTelemetry, type Telemetry } from './database/telemetry.ts'
import { untyped, untypedTransaction } from './database/untyped.ts'
import {
  CannotOpenError,
  MigrationRequiredError,
  ReadonlyError,
  SchemaTooNewError,
  SchemaUnreadableError,
} from './errors.ts'
import { migrate } from './migrations/runner.ts'
import { inspectSchema, type SchemaState } from './migrations/schema-state.ts'
import { SCHEMA_VERSION } from './migrations/steps.ts'
import { openSettings, type OpenSettings, type OpenStoreOptions } from './open-options.ts'
import { Store } from './store.ts'

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
    return await openExisting(settings).catch((error: unknown) => {
      if (!(error instanceof SchemaTooNewError)) throw error
      // A newer Hermes has upgraded it between our look and our turn.
      return openExisting(settings)
    })
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
  database.writeUpTo(SCHEMA_VERSION)
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
  { path, synchronous, retry, logger, slowQueryMs, telemetry }: Settings,
  sides: Pick<StoreDatabaseParts, 'reader' | 'writer' | 'refusal'>,
): StoreDatabase {
  const statistics = new Statistics(slowQueryMs, telemetry)
  return new StoreDatabase({ path, synchronous, retry, logger, statistics, ...sides })
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

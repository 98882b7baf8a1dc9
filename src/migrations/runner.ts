import { setImmediate as nextTurn } from 'node:timers/promises'

import { sql, type Kysely, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'

import { DatabaseError, MigrationFailedError, SchemaTooNewError, StoreError } from '../errors.ts'
import { hermesProvider, ownProvider } from './providers.ts'
import { inspectSchema } from './schema-state.ts'
import {
  hermesSteps,
  ownSteps,
  SCHEMA_VERSION,
  versionOf,
  type Step,
  type StepOptions,
} from './steps.ts'

/** What the runner is doing; `rows` events come from the long re-indexing step. */
export type MigrationEvent =
  | { readonly kind: 'begin'; readonly fromVersion: number; readonly toVersion: number }
  | { readonly kind: 'step'; readonly name: string }
  | { readonly kind: 'rows'; readonly done: number; readonly total: number }
  | { readonly kind: 'repair' }
  | { readonly kind: 'end' }

/** Told what the runner does, in order; what it throws becomes a process warning. */
export type OnProgress = (event: MigrationEvent) => void

// Kysely's own bookkeeping. For the mirrored chain it only repeats what schema_version says.
const LEDGER = {
  migrationTableName: 'store_schema_migrations',
  migrationLockTableName: 'store_schema_migration_lock',
}
const OWN_LEDGER = {
  migrationTableName: 'store_migrations',
  migrationLockTableName: 'store_migration_lock',
}

/**
 * Brings a file of any older version to version 11 and adds our own tables. To be run inside one
 * `begin immediate` transaction: the state is read anew under its lock, so that of several processes
 * that start at once one does the work and the others find it done.
 * @throws {MigrationFailedError} naming the step; the caller's transaction must then be rolled back.
 * @throws {SchemaTooNewError} when a newer Hermes has upgraded the file; nothing is changed.
 */
export async function migrate(
  trx: Transaction<unknown>,
  onProgress: OnProgress = () => {},
): Promise<void> {
  const state = await inspectSchema(trx)
  if (state.isNewer) throw new SchemaTooNewError(state.version, SCHEMA_VERSION)
  if (!state.isComplete) {
    onProgress({ kind: 'begin', fromVersion: state.version, toVersion: SCHEMA_VERSION })
    await adoptVersion(trx, state.version)
    if (state.version < SCHEMA_VERSION) {
      await completeTo(trx, state.version)
      await runMigrator(trx, 'hermes', onProgress)
    }
    if (state.version === SCHEMA_VERSION || !(await inspectSchema(trx)).isComplete) {
      await repair(trx, onProgress)
    }
    onProgress({ kind: 'end' })
  }
  await migrateOwn(trx)
}

/** Adds our own tables where they are missing. They leave `schema_version` alone. */
export async function migrateOwn(trx: Transaction<unknown>): Promise<void> {
  await runMigrator(trx, 'own', () => {})
}

/** Whether every migration of our own has run on this file. */
export async function hasOwnTables(db: Kysely<unknown>): Promise<boolean> {
  const exists = await sql`
    select 1 from sqlite_master where name = ${OWN_LEDGER.migrationTableName}
  `.execute(db)
  if (exists.rows.length === 0) return false
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(OWN_LEDGER.migrationTableName)}
  `.execute(db)
  const done = new Set(rows.map((row) => row.name))
  return Object.keys(ownSteps).every((name) => done.has(name))
}

/**
 * Leaves one row in `schema_version` and writes the ledger anew from it. The agent moves the version
 * too, so the ledger can be behind or ahead; one time stamp for all, because Kysely orders what was
 * executed by time before name.
 */
async function adoptVersion(trx: Transaction<unknown>, version: number): Promise<void> {
  await sql`create table if not exists schema_version (
    version INTEGER NOT NULL
)`.execute(trx)
  await sql`delete from schema_version`.execute(trx)
  await sql`insert into schema_version (version) values (${version})`.execute(trx)
  const ledger = sql.table(LEDGER.migrationTableName)
  await sql`create table if not exists ${ledger} (
    name varchar(255) not null primary key,
    timestamp varchar(255) not null
  )`.execute(trx)
  await sql`delete from ${ledger}`.execute(trx)
  const now = new Date().toISOString()
  for (const name of Object.keys(hermesSteps())) {
    if (versionOf(name) > version) break
    await sql`insert into ${ledger} (name, timestamp) values (${name}, ${now})`.execute(trx)
  }
}

/**
 * The version can be ahead of the shape: a program stopped while it made the file, or an ALTER met a
 * lock. The next steps build on all of it, and each step adds only what is missing.
 */
async function completeTo(trx: Transaction<unknown>, version: number): Promise<void> {
  await runSteps(
    trx,
    Object.entries(hermesSteps({ throughTo11: true })).filter(
      ([name]) => versionOf(name) <= version,
    ),
  )
}

async function runSteps(
  trx: Transaction<unknown>,
  steps: readonly [name: string, step: Step][],
): Promise<void> {
  for (const [name, step] of steps) {
    try {
      await step.up(trx)
    } catch (error) {
      throw asMigrationError(name, error)
    }
  }
}

async function runMigrator(
  trx: Transaction<unknown>,
  chain: 'hermes' | 'own',
  onProgress: OnProgress,
): Promise<void> {
  const migrator = new Migrator({
    db: trx,
    provider: chain === 'own' ? ownProvider : hermesProvider(onProgress, stepOptions(onProgress)),
    ...(chain === 'own' ? OWN_LEDGER : LEDGER),
    nameComparator: (a, b) => (a < b ? -1 : Number(a > b)),
  })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  const failed = results?.find((result) => result.status === 'Error')
  throw asMigrationError(failed?.migrationName ?? 'preparation', error)
}

/**
 * The version can lie: an agent whose ALTER met a lock goes on without the column, racing upgrades
 * leave an index empty. Every step only adds what is missing, so all of them are run again.
 */
async function repair(trx: Transaction<unknown>, onProgress: OnProgress): Promise<void> {
  onProgress({ kind: 'repair' })
  await runSteps(trx, Object.entries(hermesSteps(stepOptions(onProgress))))
  if ((await inspectSchema(trx)).isComplete) return
  throw new MigrationFailedError('repair', {
    cause: new Error('the file still lacks a table, column, index or trigger of version 11'),
  })
}

/** Yields between chunks: the lock is held all the same, but the process can still answer signals. */
function stepOptions(onProgress: OnProgress): StepOptions {
  return {
    throughTo11: true,
    report: async (done, total) => {
      onProgress({ kind: 'rows', done, total })
      await nextTurn()
    },
  }
}

/** A full disk, a lock or damage is told as itself; only what the step itself did wrong is wrapped. */
function asMigrationError(step: string, error: unknown): unknown {
  const isOwnFault = !(error instanceof StoreError) || error instanceof DatabaseError
  const isLock = error instanceof Error && 'code' in error && /BUSY|LOCKED/.test(String(error.code))
  return isOwnFault && !isLock ? new MigrationFailedError(step, { cause: error }) : error
}

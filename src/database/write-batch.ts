import type { Transaction } from 'kysely'

import {
  DatabaseBusyError,
  DatabaseCorruptError,
  FileMovedError,
  NotADatabaseError,
  SchemaTooNewError,
  TransactionMisuseError,
} from '../errors.ts'
import type { Database } from '../schema/database.ts'
import type { Connection } from './connection.ts'
import { isBusy } from './sqlite-errors.ts'
import type { ChangeAtOnce } from './write-at-once.ts'

export type Change<T> = (trx: Transaction<Database>) => Promise<T>

/** What is known of a write before it is run. */
export interface WriteHints<T> {
  /** The same change for a hot path: it is tried first, and whatever stops it is left to the change. */
  readonly atOnce?: ChangeAtOnce<T> | undefined
  /** It keeps SQLite busy for longer than the event loop should wait: it gets a thread of its own. */
  readonly isLong?: boolean
}

/** One write that waits for its turn. */
export interface Job {
  readonly change: Change<unknown>
  readonly atOnce: ChangeAtOnce<unknown> | undefined
  readonly isLong: boolean
  /** Runs a function in the asynchronous context of who asked, which the caller's own tracing follows. */
  readonly inContext: <T>(run: () => T) => T
  readonly askedAt: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export type Outcome = { job: Job; value: unknown } | { job: Job; error: unknown }

/** One job's failure took the whole transaction with it: the others have to be run again without it. */
export class LostBatch extends Error {
  readonly job: Job
  constructor(job: Job, cause: unknown) {
    super('the transaction was rolled back', { cause })
    this.job = job
  }
}

export interface WriteBatchParts {
  readonly writer: Connection
  /** Runs a change so that a call to the outer store from inside can be told (and refused). */
  readonly inScope: <T>(run: () => Promise<T>) => Promise<T>
}

/** How long one transaction goes on taking more writes. */
const MAX_HOLD_MS = 50

/** How a batch is run: at first in the cheapest way, more carefully when that failed. */
export interface BatchPlan {
  /** Each job in a savepoint of its own. FTS5 writes out what it has gathered at each of them. */
  readonly apart: boolean
  /** What was found damaged before, one index or both, and is set aside first. */
  readonly damages: readonly DatabaseCorruptError[]
}

const SEARCH_INDEXES = 2

/** Damage that can still be set aside. What is met after that is a write's own error. */
export function isNewDamage(error: unknown, { damages }: BatchPlan): error is DatabaseCorruptError {
  return isIndexDamage(error) && damages.length < SEARCH_INDEXES
}

/**
 * Runs jobs inside one transaction until all are done or the time is up. Apart, a job's own error is
 * its outcome; together, it ends them all.
 * @throws {LostBatch} and what is nobody's own error: a lock, a damaged or missing file.
 */
export async function runJobs(
  parts: WriteBatchParts,
  trx: Transaction<Database>,
  jobs: readonly Job[],
  plan: BatchPlan,
): Promise<Outcome[]> {
  const begunAt = performance.now()
  const outcomes: Outcome[] = []
  for (const job of jobs) {
    if (outcomes.length > 0 && performance.now() - begunAt > MAX_HOLD_MS) break
    const run = plan.apart ? runInSavepoint : runPlainly
    outcomes.push(await run(parts, trx, job, plan))
  }
  return outcomes
}

export function runJob(
  { inScope }: WriteBatchParts,
  trx: Transaction<Database>,
  job: Job,
): Promise<unknown> {
  return job.inContext(() => inScope(() => job.change(trx)))
}

async function runPlainly(
  parts: WriteBatchParts,
  trx: Transaction<Database>,
  job: Job,
): Promise<Outcome> {
  return { job, value: await runJob(parts, trx, job) }
}

async function runInSavepoint(
  parts: WriteBatchParts,
  trx: Transaction<Database>,
  job: Job,
  plan: BatchPlan,
): Promise<Outcome> {
  const control = (command: string): void => void parts.writer.statements.get(command).run()
  control('savepoint queued_write')
  try {
    const outcome = await runPlainly(parts, trx, job)
    if (!parts.writer.raw.inTransaction)
      throw new TransactionMisuseError('a caught error had ended it')
    control('release queued_write')
    return outcome
  } catch (error) {
    if (isBusy(error) || isFatal(error) || isNewDamage(error, plan)) throw error
    // SQLite has rolled everything back by itself (a full disk).
    if (!parts.writer.raw.inTransaction) throw new LostBatch(job, error)
    control('rollback to queued_write')
    control('release queued_write')
    return { job, error }
  }
}

/** After which nothing may be written any more. */
export function isFatal(
  error: unknown,
): error is DatabaseCorruptError | FileMovedError | NotADatabaseError {
  return (
    error instanceof FileMovedError ||
    error instanceof NotADatabaseError ||
    (error instanceof DatabaseCorruptError && error.scope === 'file')
  )
}

export function isIndexDamage(error: unknown): error is DatabaseCorruptError {
  return error instanceof DatabaseCorruptError && error.scope === 'index'
}

/** Whether running the jobs one by one could end any better. */
export function isEverybodys(error: unknown): boolean {
  return error instanceof DatabaseBusyError || error instanceof SchemaTooNewError || isFatal(error)
}

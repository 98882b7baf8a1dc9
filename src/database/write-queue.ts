import type { Kysely, Transaction } from 'kysely'

import { DatabaseBusyError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { withBusyRetry, type RetryPolicy } from './busy-retry.ts'
import type { Connection } from './connection.ts'
import { isBusy } from './sqlite-errors.ts'
import type { CommittedBatch } from './statistics.ts'

export type Change<T> = (trx: Transaction<Database>) => Promise<T>

/** Told what the queue does while it works. */
export interface WriteObserver {
  retried(): void
  committed(batch: CommittedBatch): void
  failed(error: unknown): void
}

export interface WriteQueueParts {
  readonly db: Kysely<Database>
  readonly writer: Connection
  readonly retry: RetryPolicy
  readonly observer: WriteObserver
  /** Runs a change so that a call to the outer store from inside can be told (and refused). */
  readonly inScope: <T>(run: () => Promise<T>) => Promise<T>
}

/** The most one transaction carries, and how long it goes on taking more. */
const MAX_BATCH = 128
const MAX_HOLD_MS = 50

/**
 * Other processes only poll for the lock. When our batches follow each other without a gap for this
 * long, we leave one: without it a waiting agent could starve and lose its message.
 */
const BUSY_STRETCH_MS = 250
const BREATHER_MS = 15

// Taken now, so that an application that replaces timers in its tests does not stop the queue.
const { setImmediate: nextTurn, setTimeout: later } = globalThis

interface Job {
  readonly change: Change<unknown>
  readonly askedAt: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { job: Job; value: unknown } | { job: Job; error: unknown }

/**
 * Group commit: the writes that wait at the same moment share one `begin immediate` transaction, in
 * the order they were asked for, each in a savepoint of its own. One that fails is undone and
 * rejected alone; nobody's promise resolves before the COMMIT that carries it.
 */
export class WriteQueue {
  readonly #parts: WriteQueueParts
  readonly #waiting: Job[] = []
  #drained: Promise<void> | undefined

  constructor(parts: WriteQueueParts) {
    this.#parts = parts
  }

  push<T>(change: Change<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        change,
        askedAt: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      this.#drained ??= this.#drain()
    })
  }

  /** Settles when everything asked for so far has been stored or rejected. */
  async idle(): Promise<void> {
    while (this.#drained) await this.#drained
  }

  async #drain(): Promise<void> {
    let stretchStartedAt = performance.now()
    // One turn of the loop, so that the chats whose events are being delivered now can join.
    await new Promise<void>((resume) => void nextTurn(resume))
    while (this.#waiting.length > 0) {
      await this.#commit(this.#waiting.splice(0, MAX_BATCH))
      await new Promise<void>((resume) => void nextTurn(resume))
      if (this.#waiting.length > 0 && performance.now() - stretchStartedAt > BUSY_STRETCH_MS) {
        await new Promise<void>((resume) => void later(resume, BREATHER_MS))
        stretchStartedAt = performance.now()
      }
    }
    this.#drained = undefined
  }

  /** Stores the batch; what it had no time for goes back to the head of the line. */
  async #commit(batch: Job[]): Promise<void> {
    let outcomes: Outcome[] = []
    let heldMs = 0
    const startedAt = performance.now()
    try {
      await withBusyRetry(
        this.#parts.retry,
        async () => {
          const begunAt = performance.now()
          outcomes = []
          await this.#parts.db.transaction().execute((trx) => this.#runAll(trx, batch, outcomes))
          heldMs = performance.now() - begunAt
        },
        () => this.#parts.observer.retried(),
      )
    } catch (error) {
      await this.#commitFailed(batch, error)
      return
    }
    this.#waiting.unshift(...batch.slice(outcomes.length))
    const writes = outcomes.filter((outcome) => 'value' in outcome).length
    const waitedMs = startedAt - (batch[0]?.askedAt ?? startedAt)
    if (writes > 0) this.#parts.observer.committed({ writes, heldMs, waitedMs })
    for (const outcome of outcomes) {
      if ('value' in outcome) outcome.job.resolve(outcome.value)
      else this.#fail(outcome.job, outcome.error)
    }
  }

  async #runAll(trx: Transaction<Database>, batch: Job[], outcomes: Outcome[]): Promise<void> {
    const begunAt = performance.now()
    for (const job of batch) {
      if (outcomes.length > 0 && performance.now() - begunAt > MAX_HOLD_MS) return
      outcomes.push(
        batch.length === 1 ? await this.#run(trx, job) : await this.#runInSavepoint(trx, job),
      )
    }
  }

  async #run(trx: Transaction<Database>, job: Job): Promise<Outcome> {
    return { job, value: await this.#parts.inScope(() => job.change(trx)) }
  }

  async #runInSavepoint(trx: Transaction<Database>, job: Job): Promise<Outcome> {
    this.#control('savepoint queued_write')
    try {
      const outcome = await this.#run(trx, job)
      this.#control('release queued_write')
      return outcome
    } catch (error) {
      if (isBusy(error)) throw error
      // Gone with the whole transaction (a full disk): the others have to be run again without it.
      if (!this.#parts.writer.raw.inTransaction) throw new LostBatch(job, error)
      this.#control('rollback to queued_write')
      this.#control('release queued_write')
      return { job, error }
    }
  }

  #control(command: string): void {
    this.#parts.writer.statements.get(command).run()
  }

  async #commitFailed(batch: Job[], error: unknown): Promise<void> {
    if (error instanceof LostBatch) {
      this.#fail(error.job, error.cause)
      const rest = batch.filter((job) => job !== error.job)
      if (rest.length > 0) await this.#commit(rest)
      return
    }
    const { signal } = this.#parts.retry
    const isAbort = signal?.aborted && error === signal.reason
    if (batch.length === 1 || isAbort || error instanceof DatabaseBusyError) {
      for (const job of batch) this.#fail(job, error)
      return
    }
    // The commit itself failed, so nobody's fault is known: each write gets a transaction of its own.
    for (const job of batch) await this.#commit([job])
  }

  #fail(job: Job, error: unknown): void {
    this.#parts.observer.failed(error)
    job.reject(error)
  }
}

class LostBatch extends Error {
  readonly job: Job
  constructor(job: Job, cause: unknown) {
    super('the transaction was rolled back', { cause })
    this.job = job
  }
}

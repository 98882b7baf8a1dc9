import { AsyncLocalStorage } from 'node:async_hooks'

import type { Kysely, Transaction } from 'kysely'

import type { DatabaseCorruptError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { withBusyRetry, type RetryPolicy } from './busy-retry.ts'
import type { CommittedBatch } from './statistics.ts'
import { NoThread } from './thread.ts'
import { allowTogether } from './together.ts'
import { commitAtOnce, type RunAtOnce } from './write-at-once.ts'
import {
  isEverybodys,
  isIndexDamage,
  isNewDamage,
  LostBatch,
  runJob,
  runJobs,
  type BatchPlan,
  type Change,
  type Job,
  type Outcome,
  type WriteBatchParts,
  type WriteHints,
} from './write-batch.ts'

export interface WriteQueueParts extends WriteBatchParts {
  readonly db: Kysely<Database>
  readonly retry: RetryPolicy
  readonly runAtOnce: RunAtOnce
  /** Stores a change in another thread. @throws {NoThread} with nothing done. */
  readonly runLong: <T>(change: Change<T>) => Promise<T>
  /** Called before each attempt; what it throws rejects the whole batch. */
  readonly assertWritable: () => void
  /** Called under the write lock, before anything is changed; what it throws rejects the whole batch. */
  readonly assertSchema: () => void
  /** Called after each COMMIT; what it throws rejects the whole batch. */
  readonly assertStored: () => void
  /** Makes writing possible again where a full-text index is damaged. */
  readonly setAsideIndex: (
    trx: Transaction<Database>,
    damage: DatabaseCorruptError,
  ) => Promise<void>
  /** Told what the queue does while it works. */
  readonly observer: {
    retried(): void
    committed(batch: CommittedBatch): void
    failed(error: unknown): void
  }
}

/** Work that no write may run beside. */
interface Exclusive {
  readonly work: () => Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The most one transaction carries. */
const MAX_BATCH = 128

/**
 * Other processes only poll for the lock. When our batches follow each other without a gap for this
 * long, we leave one: without it a waiting agent could starve and lose its message.
 */
const BUSY_STRETCH_MS = 250
const BREATHER_MS = 15

/** How long writes may follow each other before the rest of the process gets a turn. */
const TURN_EVERY_MS = 3

// Taken now, so that an application that replaces timers in its tests does not stop the queue.
const { setImmediate: nextTurn, setTimeout: later } = globalThis
const nextTick = process.nextTick.bind(process)

const runHere = <T>(run: () => T): T => run()

/** Lets the event loop deliver what has arrived. */
function loopTurn(): Promise<void> {
  return new Promise((resume) => void nextTurn(resume))
}

/** Lets those whose writes have just ended go on, until they ask for the next or wait for something. */
function callersTurn(): Promise<void> {
  return new Promise((resume) => nextTick(resume))
}

/**
 * Group commit: the writes that wait at the same moment share one `begin immediate` transaction, in
 * the order they were asked for. When one of them fails all are undone and run again, then each in a
 * savepoint of its own, so that it is rejected alone. Nobody's promise resolves before the COMMIT
 * that carries it.
 */
export class WriteQueue {
  readonly #parts: WriteQueueParts
  readonly #waiting: (Job | Exclusive)[] = []
  /** The queue works in a context of its own, whoever's write wakes it. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot()
  #drained: Promise<void> | undefined

  constructor(parts: WriteQueueParts) {
    this.#parts = parts
  }

  push<T>(change: Change<T>, { atOnce, isLong = false }: WriteHints<T> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        change,
        atOnce,
        isLong,
        // What can be done at once is our own code, which follows nobody's tracing.
        inContext: atOnce ? runHere : AsyncLocalStorage.snapshot(),
        askedAt: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      this.#drained ??= this.#inOwnContext(() => this.#drain())
    })
  }

  /** Runs `work`, which uses a connection of its own, in its turn; later writes wait for its end. */
  alone(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject })
      this.#drained ??= this.#inOwnContext(() => this.#drain())
    })
  }

  /** Settles when everything asked for so far has been stored or rejected. */
  async idle(): Promise<void> {
    while (this.#drained) await this.#drained
  }

  async #drain(): Promise<void> {
    let stretchStartedAt = performance.now()
    // One turn of the loop, so that the chats whose events are being delivered now can join.
    await loopTurn()
    let turnAt = performance.now()
    while (this.#waiting.length > 0) {
      await this.#next()
      // A turn costs more than a small write, so not each write pays for one.
      if (performance.now() - turnAt < TURN_EVERY_MS) await callersTurn()
      else {
        await loopTurn()
        turnAt = performance.now()
      }
      if (this.#waiting.length > 0 && performance.now() - stretchStartedAt > BUSY_STRETCH_MS) {
        await new Promise<void>((resume) => void later(resume, BREATHER_MS))
        stretchStartedAt = performance.now()
      }
    }
    this.#drained = undefined
  }

  async #next(): Promise<void> {
    const batch: Job[] = []
    while (batch.length < MAX_BATCH) {
      const first = this.#waiting[0]
      if (first === undefined || 'work' in first || first.isLong) break
      batch.push(first)
      this.#waiting.shift()
    }
    if (batch.length > 0) return this.#commit(batch)
    const first = this.#waiting.shift()!
    if ('work' in first) await first.work().then(first.resolve, first.reject)
    else await this.#commitLong(first)
  }

  /** In another thread; where that cannot be, or an index is in the way, as any other write. */
  async #commitLong(job: Job): Promise<void> {
    const startedAt = performance.now()
    let begunAt = startedAt
    let value: unknown
    try {
      value = await withBusyRetry(
        this.#parts.retry,
        () => {
          this.#parts.assertWritable()
          return this.#parts.runLong((trx) => {
            begunAt = performance.now()
            this.#parts.assertSchema()
            return runJob(this.#parts, trx, job)
          })
        },
        () => this.#parts.observer.retried(),
      )
      this.#parts.assertStored()
    } catch (error) {
      if (error instanceof NoThread || isIndexDamage(error)) return this.#commit([job])
      return this.#fail(job, error)
    }
    const heldMs = performance.now() - begunAt
    this.#parts.observer.committed({ writes: 1, heldMs, waitedMs: startedAt - job.askedAt })
    job.resolve(value)
  }

  /** Stores the batch; what it had no time for goes back to the head of the line. */
  async #commit(batch: Job[], plan: BatchPlan = { apart: false, damages: [] }): Promise<void> {
    let outcomes: Outcome[]
    let heldMs = 0
    const startedAt = performance.now()
    const { runAtOnce } = this.#parts
    try {
      const atOnce = await this.#commitAtOnce(batch, plan)
      heldMs = performance.now() - startedAt
      outcomes =
        atOnce ??
        (await withBusyRetry(
          this.#parts.retry,
          async () => {
            this.#parts.assertWritable()
            let begunAt = 0
            const done = await this.#parts.db.transaction().execute(async (trx) => {
              begunAt = performance.now()
              this.#parts.assertSchema()
              allowTogether(trx, (sql, parameterLists) =>
                parameterLists.map((parameters) => runAtOnce(sql, parameters).insertId),
              )
              for (const damage of plan.damages) await this.#parts.setAsideIndex(trx, damage)
              return runJobs(this.#parts, trx, batch, plan)
            })
            heldMs = performance.now() - begunAt
            return done
          },
          () => this.#parts.observer.retried(),
        ))
      this.#parts.assertStored()
    } catch (error) {
      await this.#commitFailed(batch, error, plan)
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

  async #commitAtOnce(
    batch: readonly Job[],
    { apart, damages }: BatchPlan,
  ): Promise<Outcome[] | undefined> {
    if (apart || damages.length > 0 || !batch.every((job) => job.atOnce)) return undefined
    this.#parts.assertWritable()
    const outcomes = commitAtOnce(this.#parts.writer, batch, this.#parts.assertSchema)
    // It may have stood still for a lock.
    if (!outcomes) await loopTurn()
    return outcomes
  }

  async #commitFailed(batch: Job[], error: unknown, plan: BatchPlan): Promise<void> {
    if (error instanceof LostBatch) {
      this.#fail(error.job, error.cause)
      const rest = batch.filter((job) => job !== error.job)
      if (rest.length > 0) await this.#commit(rest, plan)
      return
    }
    // FTS5 may find the damage as late as in the COMMIT, so it is not told whose write met it.
    if (isNewDamage(error, plan)) {
      return this.#commit(batch, { ...plan, damages: [...plan.damages, error] })
    }
    const { signal } = this.#parts.retry
    const isAbort = signal?.aborted && error === signal.reason
    if (batch.length === 1 || isAbort || isEverybodys(error)) {
      for (const job of batch) this.#fail(job, error)
      return
    }
    // Whose fault it was is not known.
    if (!plan.apart) return this.#commit(batch, { ...plan, apart: true })
    // The commit itself failed: each write gets a transaction of its own.
    for (const job of batch) await this.#commit([job], plan)
  }

  #fail(job: Job, error: unknown): void {
    this.#parts.observer.failed(error)
    job.reject(error)
  }
}

import { noTelemetry, type Telemetry } from './telemetry.ts'

/** One group commit; times in milliseconds. */
export interface CommittedBatch {
  readonly writes: number
  /** From BEGIN to the end of COMMIT. */
  readonly heldMs: number
  /** How long the first of its writes had waited in line before. */
  readonly waitedMs: number
}

/** A statement that took longer than the threshold; values are not kept. */
export interface SlowQuery {
  /** With placeholders in the place of values. */
  readonly sql: string
  /** Milliseconds in SQLite; for a read in a worker the way there and back as well. */
  readonly tookMs: number
  /** Seconds since the epoch. */
  readonly at: number
}

/** Counters since the store was opened; times in milliseconds. */
export interface WriteStatistics {
  /** Writes that were stored. */
  readonly writes: number
  /** Writes that were rejected, by whatever error. */
  readonly failedWrites: number
  /** Transactions those writes shared. */
  readonly commits: number
  /** The most writes one of them carried. */
  readonly largestBatch: number
  /** Attempts made again because another connection held the lock. */
  readonly retries: number
  /** How long the write lock was held, BEGIN to COMMIT. */
  readonly totalHeldMs: number
  /** The longest of these times. */
  readonly longestHeldMs: number
  /** How long the first write of each commit had waited in line. */
  readonly totalWaitedMs: number
  /** The longest of these waits. */
  readonly longestWaitedMs: number
}

/** What `store.stats()` tells; nothing is read from the file for it. */
export interface StoreStatistics extends WriteStatistics {
  /** The latest 50, oldest first. */
  readonly slowQueries: readonly SlowQuery[]
  /** What waits beside the file to be copied into it; it grows while a reader is at it. */
  readonly walBytes: number
}

const KEPT_SLOW_QUERIES = 50

/** Counts what one open store does, and tells OpenTelemetry where the application uses it. */
export class Statistics {
  readonly #slowQueryMs: number
  readonly #slowQueries: SlowQuery[] = []
  readonly telemetry: Telemetry
  #counters = {
    writes: 0,
    failedWrites: 0,
    commits: 0,
    largestBatch: 0,
    retries: 0,
    totalHeldMs: 0,
    longestHeldMs: 0,
    totalWaitedMs: 0,
    longestWaitedMs: 0,
  }

  constructor(slowQueryMs = 100, telemetry = noTelemetry) {
    this.#slowQueryMs = slowQueryMs
    this.telemetry = telemetry
  }

  snapshot(): WriteStatistics & Pick<StoreStatistics, 'slowQueries'> {
    return { ...this.#counters, slowQueries: [...this.#slowQueries] }
  }

  retried(): void {
    this.#counters.retries += 1
    this.telemetry.retried()
  }

  failed(): void {
    this.#counters.failedWrites += 1
    this.telemetry.failed()
  }

  committed(batch: CommittedBatch): void {
    const { writes, heldMs, waitedMs } = batch
    const counters = this.#counters
    counters.writes += writes
    counters.commits += 1
    counters.largestBatch = Math.max(counters.largestBatch, writes)
    counters.totalHeldMs += heldMs
    counters.longestHeldMs = Math.max(counters.longestHeldMs, heldMs)
    counters.totalWaitedMs += waitedMs
    counters.longestWaitedMs = Math.max(counters.longestWaitedMs, waitedMs)
    this.telemetry.committed(batch)
  }

  /** Called after each statement. */
  ran(sql: string, tookMs: number): void {
    if (tookMs < this.#slowQueryMs) return
    this.#slowQueries.push({ sql, tookMs, at: Date.now() / 1000 })
    if (this.#slowQueries.length > KEPT_SLOW_QUERIES) this.#slowQueries.shift()
  }
}

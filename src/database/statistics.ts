/** One group commit; times in milliseconds. */
export interface CommittedBatch {
  readonly writes: number
  /** From BEGIN to the end of COMMIT. */
  readonly heldMs: number
  /** How long the first of its writes had waited in line before. */
  readonly waitedMs: number
}

/** Counters since the store was opened; times in milliseconds. */
export interface WriteStatistics {
  readonly writes: number
  readonly failedWrites: number
  readonly commits: number
  readonly largestBatch: number
  /** Attempts made again because another connection held the lock. */
  readonly retries: number
  readonly totalHeldMs: number
  readonly longestHeldMs: number
  readonly totalWaitedMs: number
  readonly longestWaitedMs: number
}

export class Statistics {
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

  snapshot(): WriteStatistics {
    return { ...this.#counters }
  }

  retried(): void {
    this.#counters.retries += 1
  }

  failed(): void {
    this.#counters.failedWrites += 1
  }

  committed({ writes, heldMs, waitedMs }: CommittedBatch): void {
    const counters = this.#counters
    counters.writes += writes
    counters.commits += 1
    counters.largestBatch = Math.max(counters.largestBatch, writes)
    counters.totalHeldMs += heldMs
    counters.longestHeldMs = Math.max(counters.longestHeldMs, heldMs)
    counters.totalWaitedMs += waitedMs
    counters.longestWaitedMs = Math.max(counters.longestWaitedMs, waitedMs)
  }
}

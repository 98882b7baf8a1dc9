/**
 * One line of the table `npm run bench` prints. `ours` and `against` are measured in the same run,
 * because only their ratio means anything on another machine.
 */
export interface BenchRow {
  readonly name: string
  readonly ours: number
  /** Of `ours` and `against`: `/s`, `ms`, `MiB`. */
  readonly unit: string
  /** What `ours` is compared with; the table's ratio is ours / against. */
  readonly against?: { readonly name: string; readonly value: number }
  /** For the ratio, or for `ours` itself where nothing is compared. */
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number }
  readonly note?: string
}

export interface SkippedRow {
  readonly name: string
  /** Why: `needs python3`. */
  readonly skipped: string
}

/** A group of rows that share their preparation; list it in `bench/main.ts`. */
export interface BenchSuite {
  /** `npm run bench -- <filter>` runs the suites whose name contains the filter. */
  readonly name: string
  /** Measures; yields each row as soon as it is known. Leaves nothing behind. */
  rows(): AsyncIterable<BenchRow | SkippedRow>
}

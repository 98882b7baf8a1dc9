import type { Connection } from './connection.ts'
import type { StatementCache } from './statement-cache.ts'
import type { Job, Outcome } from './write-batch.ts'

/** Runs one writing statement; `insertId` is the rowid of an insert. */
export type RunAtOnce = (sql: string, parameters: readonly unknown[]) => { insertId: number }

/**
 * A change without a promise in it. Between two statements of a transaction a promise costs as much
 * as a small statement, and the processor's caches besides; a message that is appended pays that
 * several times.
 */
export type ChangeAtOnce<T> = (run: RunAtOnce) => T

/** The event loop stands still meanwhile. */
const MAX_HOLD_MS = 8

/**
 * Stores the jobs in one transaction without leaving the call, as many as the time allows. When
 * anything goes wrong, a lock included, nothing is stored and the answer is undefined: the usual way
 * then does it, and waits, retries or finds out whose fault it is. Each job must have its `atOnce`.
 */
export function commitAtOnce(
  { raw, statements }: Connection,
  jobs: readonly Job[],
  assertSchema: () => void,
): Outcome[] | undefined {
  const run = runnerOn(statements)
  const begunAt = performance.now()
  const outcomes: Outcome[] = []
  try {
    statements.get('begin immediate').run()
    assertSchema()
    for (const job of jobs) {
      if (outcomes.length > 0 && performance.now() - begunAt > MAX_HOLD_MS) break
      outcomes.push({ job, value: job.atOnce?.(run) })
    }
    statements.get('commit').run()
    return outcomes
  } catch {
    // SQLite has rolled back by itself after some errors (a full disk).
    if (raw.inTransaction) raw.exec('rollback')
    return undefined
  }
}

export function runnerOn(statements: StatementCache): RunAtOnce {
  return (sql, parameters) => ({
    insertId: Number(statements.get(sql).run(parameters).lastInsertRowid),
  })
}

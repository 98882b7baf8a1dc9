import type { Transaction } from 'kysely'

import type { Database } from '../schema/database.ts'

/** Runs one statement for each list of parameters and gives the rowid each has inserted. */
export type RunTogether = (
  sql: string,
  parameterLists: readonly (readonly unknown[])[],
) => readonly number[] | Promise<readonly number[]>

const runs = new WeakMap<object, RunTogether>()

/** Lets the rows of one long write go without a promise, or a way to another thread, for each of them. */
export function allowTogether(trx: Transaction<Database>, run: RunTogether): void {
  runs.set(trx, run)
}

/** Undefined inside a caller's own transaction, whose every statement is looked after by Kysely. */
export function togetherIn(db: object): RunTogether | undefined {
  return runs.get(db)
}

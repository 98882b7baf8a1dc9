import type { Kysely } from 'kysely'

import type { Database } from '../schema/database.ts'

/**
 * Runs one reading statement at once, without the promises of Kysely's executor, which cost a point
 * read half its time. Undefined when it did not succeed: the usual way then waits, retries and names
 * the error.
 */
export type DirectRead = (sql: string, parameters: readonly unknown[]) => unknown[] | undefined

const directReads = new WeakMap<object, DirectRead>()

export function allowDirectReads(db: Kysely<Database>, read: DirectRead): void {
  directReads.set(db, read)
}

export function directReadOf(db: Kysely<Database>): DirectRead | undefined {
  return directReads.get(db)
}

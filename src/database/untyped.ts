import type { Kysely, Transaction } from 'kysely'

import type { Database } from '../schema/database.ts'

/** For migrations, which know no table types: the tables are what they make. */
export function untyped(db: Kysely<Database>): Kysely<unknown> {
  return db as unknown as Kysely<unknown>
}

/** The same for a transaction. */
export function untypedTransaction(trx: Transaction<Database>): Transaction<unknown> {
  return trx as unknown as Transaction<unknown>
}

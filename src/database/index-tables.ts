import type { Database as RawConnection } from 'better-sqlite3'
import { sql, type Transaction } from 'kysely'

import type { Database } from '../schema/database.ts'

/** Gives a connection the switch that `withIndexTables` needs. */
export function addIndexTablesSwitch(raw: RawConnection): void {
  // The driver opens every connection in SQLite's defensive mode, which only this lifts.
  raw.function('store_index_tables', { directOnly: true }, (open) => {
    raw.unsafeMode(open === 1)
    return null
  })
}

/** Runs a change of the tables in which FTS5 keeps an index; all other times SQL may not touch them. */
export async function withIndexTables<T>(
  trx: Transaction<Database>,
  change: () => Promise<T>,
): Promise<T> {
  await sql`select store_index_tables(1)`.execute(trx)
  try {
    return await change()
  } finally {
    await sql`select store_index_tables(0)`.execute(trx)
  }
}

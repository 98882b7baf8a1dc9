import { sql, type Transaction } from 'kysely'

import type { DatabaseCorruptError } from '../errors.ts'
import type { Database } from '../schema/database.ts'

const INDEXES = ['messages_fts_trigram', 'messages_fts']

/**
 * Drops the triggers that write to the index SQLite found damaged, so that messages can be stored
 * again, by the agent as well. The index is incomplete from then on, until it is rebuilt.
 * @returns the indexes that were set aside.
 */
export async function setAsideIndex(
  trx: Transaction<Database>,
  damage: DatabaseCorruptError,
): Promise<readonly string[]> {
  // FTS5 mostly names its table. Where it does not, an index that is whole is set aside as well:
  // finding out would mean to check both under the write lock.
  const named = INDEXES.filter((index) => new RegExp(`"${index}"`).test(damage.message))
  const indexes = named.length > 0 ? named : INDEXES
  for (const index of indexes) {
    for (const event of ['insert', 'delete', 'update']) {
      await sql`drop trigger if exists ${sql.id(`${index}_${event}`)}`.execute(trx)
    }
  }
  return indexes
}

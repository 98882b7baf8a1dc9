import { sql, type Kysely } from 'kysely'

import { DatabaseCorruptError } from '../errors.ts'
import type { Database } from '../schema/database.ts'

/**
 * Whether both full-text indexes are kept up by their triggers and reach from the first message to the
 * last. Cheap: it looks at the ends only, one at a time, as
 * `min` and `max` side by side would read the whole table.
 * @throws {DatabaseCorruptError} of scope `index`, when a search would not find everything.
 */
export async function assertIndexesWhole(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql<{ version: number; triggers: number; ends: number }>`
    select
      (select max(version) from schema_version) as version,
      (select count(*) from sqlite_master where type = 'trigger' and tbl_name = 'messages'
        and name glob 'messages_fts*') as triggers,
      (select count(*) from (
        select (select min(id) from messages), (select max(id) from messages)
        union
        select (select min(id) from messages_fts_docsize), (select max(id) from messages_fts_docsize)
        union
        select (select min(id) from messages_fts_trigram_docsize),
          (select max(id) from messages_fts_trigram_docsize)
      )) as ends
  `.execute(db)
  const [state] = rows
  // A newer Hermes lays its indexes out in another way; we do not write to such a file.
  if (!state || state.version > 11 || (state.triggers === 6 && state.ends === 1)) return
  throw new DatabaseCorruptError(
    'index',
    'it lacks messages; maintenance.rebuildIndexes(), or opening the file anew, completes it',
  )
}

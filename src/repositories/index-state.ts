import { sql, type Kysely, type RawBuilder } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { DatabaseCorruptError, DatabaseError } from '../errors.ts'
import type { Database } from '../schema/database.ts'

/** How far the two full-text indexes can be relied on. */
export type IndexState =
  | {
      readonly kind: 'usable'
      /** The ids between which, ends included, both hold every message; undefined when that is all. */
      readonly reach: { readonly low: number; readonly high: number } | undefined
    }
  /** Laid out by a newer Hermes: the trigram index lacks messages, and they end without a blank. */
  | { readonly kind: 'newer' }
  /** Something is missing, so a search has to read the messages themselves. */
  | { readonly kind: 'unusable' }

interface Facts {
  triggers: number
  isInline: number
  first: number | null
  last: number | null
  firstWord: number | null
  lastWord: number | null
  firstTrigram: number | null
  lastTrigram: number | null
  /** Whether an index has messages with words in them and knows no word; a damaged one can look so. */
  isEmptied: number
}

/**
 * Cheap: it looks for the triggers that keep the indexes and at their ends only, one at a time, as
 * `min` and `max` side by side would read the whole table.
 */
export async function indexState(db: Kysely<Database>): Promise<IndexState> {
  const facts = await factsOf(db)
  if (facts === undefined) return { kind: 'unusable' }
  if (!facts.isInline) return { kind: 'newer' }
  if (facts.triggers < 6) return { kind: 'unusable' }
  const { first, last, firstWord, lastWord, firstTrigram, lastTrigram } = facts
  if (first === null || last === null) return { kind: 'usable', reach: undefined }
  if (firstWord === null || lastWord === null || firstTrigram === null || lastTrigram === null) {
    return { kind: 'unusable' }
  }
  if (facts.isEmptied) return { kind: 'unusable' }
  const low = Math.max(firstWord, firstTrigram)
  const high = Math.min(lastWord, lastTrigram)
  const isWhole = low <= first && high >= last
  return { kind: 'usable', reach: isWhole ? undefined : { low, high } }
}

async function factsOf(db: Kysely<Database>): Promise<Facts | undefined> {
  try {
    return await facts.first(db, {})
  } catch (error) {
    if (error instanceof DatabaseCorruptError && error.scope === 'index') return undefined
    if (error instanceof DatabaseError && error.message.startsWith('no such table'))
      return undefined
    throw error
  }
}

const facts = prepare<object>()((db) =>
  db
    .selectNoFrom(() => [
      sql<number>`(select count(*) from sqlite_master where type = 'trigger'
        and tbl_name = 'messages' and name glob 'messages_fts*')`.as('triggers'),
      sql<number>`(select sql not like '%content=%' from sqlite_master
        where name = 'messages_fts_trigram')`.as('isInline'),
      sql<number | null>`(select min(id) from messages)`.as('first'),
      sql<number | null>`(select max(id) from messages)`.as('last'),
      sql<number | null>`(select min(id) from messages_fts_docsize)`.as('firstWord'),
      sql<number | null>`(select max(id) from messages_fts_docsize)`.as('lastWord'),
      sql<number | null>`(select min(id) from messages_fts_trigram_docsize)`.as('firstTrigram'),
      sql<number | null>`(select max(id) from messages_fts_trigram_docsize)`.as('lastTrigram'),
      sql<number>`${isEmptied('messages_fts')} or ${isEmptied('messages_fts_trigram')}`.as(
        'isEmptied',
      ),
    ])
    .limit(sql.lit(1)),
)

/** Record 10 says where the terms are; without one it has at most eight bytes. */
function isEmptied(index: string): RawBuilder<number> {
  const [data, sizes] = [sql.table(`${index}_data`), sql.table(`${index}_docsize`)]
  return sql<number>`(ifnull((select length(block) from ${data} where id = 10), 0) <= 8
    and exists (select 1 from ${sizes} where sz <> x'00'))`
}

import { sql, type Transaction } from 'kysely'

import { DatabaseCorruptError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { dropAllNuls } from './trigram-nul.ts'
import { fromVarint, toVarint } from './varint.ts'

/** In the order in which they are suspected. */
const indexes = ['messages_fts_trigram', 'messages_fts'] as const
type Index = (typeof indexes)[number]

/** The most that can be indexed while everybody waits for the lock, some half a second. */
const FEW_MESSAGES = 2000

/**
 * Runs one statement that changes messages. When a damaged full-text index makes it fail, the index is
 * repaired in the same transaction and the statement is run again. Wrong counts take milliseconds; any
 * other damage means to build the index anew, which only a small file has the time for.
 * `statement` must be a single one, because only that is undone by its failure.
 * @throws {DatabaseCorruptError} of scope `index`, whereupon the store sets the index aside and runs the
 *   whole write again; or when the pages of the file are damaged.
 */
export async function withIndexRepair<T>(
  trx: Transaction<Database>,
  statement: () => Promise<T>,
): Promise<T> {
  const suspects = new Set(indexes)
  let recounted = false
  for (;;) {
    try {
      return await statement()
    } catch (error) {
      if (!(error instanceof DatabaseCorruptError) || error.scope !== 'index') throw error
      if (!recounted) {
        for (const index of indexes) await recount(trx, index)
        recounted = true
        continue
      }
      const suspect = suspectOf(error, suspects)
      if (!suspect || !(await isSmall(trx))) throw error
      suspects.delete(suspect)
      await rebuildIndex(trx, suspect)
    }
  }
}

async function isSmall(trx: Transaction<Database>): Promise<boolean> {
  const { rows } = await sql<{ messages: number }>`
    select count(*) as messages from (select 1 from messages limit ${FEW_MESSAGES + 1})
  `.execute(trx)
  return (rows[0]?.messages ?? 0) <= FEW_MESSAGES
}

/**
 * Sets the counts that FTS5 keeps for an index, rows and tokens, to what it holds. They are wrong where
 * another SQLite than the one that indexed a text has deleted it, and fail every delete below zero.
 */
async function recount(trx: Transaction<Database>, index: Index): Promise<void> {
  const { rows } = await sql<{ size: Uint8Array; count: number }>`
    select sz as size, count(*) as count from ${sql.id(`${index}_docsize`)} group by sz
  `.execute(trx)
  let messages = 0
  let tokens = 0
  for (const { size, count } of rows) {
    messages += count
    tokens += fromVarint(size) * count
  }
  const counts = Buffer.concat([toVarint(messages), toVarint(tokens)])
  await sql`update ${sql.id(`${index}_data`)} set block = ${counts} where id = 1`.execute(trx)
}

/** FTS5 mostly names the index in which something is wrong. */
function suspectOf(error: DatabaseCorruptError, suspects: ReadonlySet<Index>): Index | undefined {
  const named = indexes.find((index) => error.message.includes(`"${index}"`))
  return named && suspects.has(named) ? named : suspects.values().next().value
}

/** Builds the index anew from its own copy of the text. */
export async function rebuildIndex(trx: Transaction<Database>, index: Index): Promise<void> {
  await sql`insert into ${sql.id(index)}(${sql.id(index)}) values ('rebuild')`.execute(trx)
  if (index === 'messages_fts_trigram') await dropAllNuls(trx)
}

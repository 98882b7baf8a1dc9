import { sql, type Transaction } from 'kysely'

import { DatabaseCorruptError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { dropAllNuls } from './trigram-nul.ts'

/** In the order in which they are suspected. */
const indexes = ['messages_fts_trigram', 'messages_fts'] as const
type Index = (typeof indexes)[number]

/**
 * Runs one statement that changes messages. When a damaged full-text index makes it fail, the index is
 * built anew in the same transaction and the statement is run again: seconds on a big file.
 * `statement` must be a single one, because only that is undone by its failure.
 * @throws {DatabaseCorruptError} when the pages of the file are damaged, or the index cannot be rebuilt.
 */
export async function withIndexRepair<T>(
  trx: Transaction<Database>,
  statement: () => Promise<T>,
): Promise<T> {
  const suspects = new Set(indexes)
  for (;;) {
    try {
      return await statement()
    } catch (error) {
      const suspect = suspectOf(error, suspects)
      if (!suspect) throw error
      suspects.delete(suspect)
      await rebuildIndex(trx, suspect)
    }
  }
}

/** Counts that are wrong name no index; any other damage mostly does. */
function suspectOf(error: unknown, suspects: ReadonlySet<Index>): Index | undefined {
  if (!(error instanceof DatabaseCorruptError) || error.scope !== 'index') return undefined
  const named = indexes.find((index) => error.message.includes(`"${index}"`))
  return named && suspects.has(named) ? named : suspects.values().next().value
}

/** Builds the index anew from its own copy of the text. */
export async function rebuildIndex(trx: Transaction<Database>, index: Index): Promise<void> {
  await sql`insert into ${sql.id(index)}(${sql.id(index)}) values ('rebuild')`.execute(trx)
  if (index === 'messages_fts_trigram') await dropAllNuls(trx)
}

import { sql, type Transaction } from 'kysely'

import { DatabaseCorruptError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { dropAllNuls } from './trigram-nul.ts'

/** In the order in which they are suspected. */
const indexes = ['messages_fts_trigram', 'messages_fts'] as const

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
  for (const index of indexes) {
    try {
      return await statement()
    } catch (error) {
      if (!(error instanceof DatabaseCorruptError) || error.scope !== 'index') throw error
      await rebuildIndex(trx, index)
    }
  }
  return statement()
}

/** Builds the index anew from its own copy of the text. */
export async function rebuildIndex(
  trx: Transaction<Database>,
  index: (typeof indexes)[number],
): Promise<void> {
  await sql`insert into ${sql.id(index)}(${sql.id(index)}) values ('rebuild')`.execute(trx)
  if (index === 'messages_fts_trigram') await dropAllNuls(trx)
}

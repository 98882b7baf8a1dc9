import { sql, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { fromVarint } from './varint.ts'

// Structured content is stored as NUL and JSON. The trigram tokenizer of older SQLite, the agent's
// 3.40 among them, ends at a NUL; ours passes over it. FTS5 removes a message by cutting its copy of
// the text again: whoever cuts it otherwise than the one who added it leaves entries behind that no
// message belongs to, and counts that are wrong, in the end negative: then every delete fails. So the
// copy is made to say what was indexed, in a form that both read the same way.

const ROWS_PER_STEP = 200

interface Copy {
  id: number
  text: Uint8Array
}

const withNul = prepare<{ ids: string }>()((db, p) => ({
  compile: () =>
    sql<Copy>`
      select id, cast(c0 as blob) as text from messages_fts_trigram_content
      where id in (select value from json_each(${p.ids})) and instr(c0, char(0))
    `.compile(db),
}))

const setCopy = prepare<Copy>()((db, p) => ({
  compile: () =>
    sql<never>`
      update messages_fts_trigram_content set c0 = cast(${p.text} as text) where id = ${p.id}
    `.compile(db),
}))

const tables = prepare<object>()((db) => ({
  compile: () =>
    sql<{ name: string }>`
      select name from sqlite_master
      where name in ('messages_fts_trigram_content', 'messages_fts_trigram_docsize')
    `.compile(db),
}))

const lengthsWithNul = prepare<{ ids: string }>()((db, p) => ({
  compile: () =>
    sql<{ id: number; length: number; size: Uint8Array }>`
      select copy.id, length(copy.c0) as length, indexed.sz as size
      from messages_fts_trigram_content as copy
      join messages_fts_trigram_docsize as indexed on indexed.id = copy.id
      where copy.id in (select value from json_each(${p.ids})) and instr(copy.c0, char(0))
    `.compile(db),
}))

/** Messages are stored and deleted without it, too. */
async function hasIndex(trx: Transaction<Database>): Promise<boolean> {
  return (await tables.all(trx, {})).length === 2
}

/** After messages were added: takes the NULs out of the index's copy. What is indexed stays the same. */
export async function dropNuls(
  trx: Transaction<Database>,
  messageIds: readonly number[],
): Promise<void> {
  if (!(await hasIndex(trx))) return
  for (let done = 0; done < messageIds.length; done += ROWS_PER_STEP) {
    const ids = JSON.stringify(messageIds.slice(done, done + ROWS_PER_STEP))
    await rewrite(trx, await withNul.all(trx, { ids }))
  }
}

/** The same for the whole index, after it was built anew. */
export async function dropAllNuls(trx: Transaction<Database>): Promise<void> {
  let after = Number.MIN_SAFE_INTEGER
  for (;;) {
    const { rows } = await sql<Copy>`
      select id, cast(c0 as blob) as text from messages_fts_trigram_content
      where id > ${after} and instr(c0, char(0)) order by id limit ${ROWS_PER_STEP}
    `.execute(trx)
    await rewrite(trx, rows)
    const last = rows.at(-1)
    if (!last) return
    after = last.id
  }
}

async function rewrite(trx: Transaction<Database>, copies: readonly Copy[]): Promise<void> {
  for (const { id, text } of copies) {
    await setCopy.run(trx, { id, text: text.filter((byte) => byte !== 0) })
  }
}

/** Before messages are deleted: cuts the copy of those that an older SQLite indexed where it ended. */
export async function cutAtNul(
  trx: Transaction<Database>,
  messageIds: readonly number[],
): Promise<void> {
  if (!(await hasIndex(trx))) return
  const rows = await lengthsWithNul.all(trx, { ids: JSON.stringify(messageIds) })
  // SQL's length ends at the NUL, too. Three characters make the first trigram, each further one more.
  const cut = rows.filter((row) => fromVarint(row.size) === Math.max(0, row.length - 2))
  if (cut.length === 0) return
  await sql`
    update messages_fts_trigram_content set c0 = substr(c0, 1, length(c0))
    where id in (select value from json_each(${JSON.stringify(cut.map((row) => row.id))}))
  `.execute(trx)
}

// The sessions, messages and schema_version tables belong to Hermes Agent; this mirrors what its version 4 brought.
import { sql, type Kysely } from 'kysely'

const MAX_TITLE_LENGTH = 100

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`
    select 1 from sqlite_master where type = 'index' and name = 'idx_sessions_title_unique'
  `.execute(db)
  if (rows.length > 0) return
  await numberDuplicates(db)
  await sql`CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL`.execute(
    db,
  )
}

/**
 * Two sessions of one title cannot both keep it. The oldest does; the others become its next
 * numbers, in the order they were started, as the agent itself numbers the parts of a conversation.
 * Asking for the title then still leads to the newest one, and no title is lost.
 */
async function numberDuplicates(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: string; title: string }>`
    select id, title from (
      select id, title, started_at,
        row_number() over (partition by title order by started_at, rowid) as nth
      from sessions where title is not null
    ) where nth > 1 order by started_at, id
  `.execute(db)
  for (const { id, title } of rows) {
    await sql`update sessions set title = ${await freeTitle(db, title)} where id = ${id}`.execute(
      db,
    )
  }
}

async function freeTitle(db: Kysely<unknown>, title: string): Promise<string> {
  for (let number = 2; ; number += 1) {
    const suffix = ` #${number}`
    const room = MAX_TITLE_LENGTH - suffix.length
    const candidate = Array.from(title).slice(0, room).join('') + suffix
    const { rows } = await sql`select 1 from sessions where title = ${candidate}`.execute(db)
    if (rows.length === 0) return candidate
  }
}

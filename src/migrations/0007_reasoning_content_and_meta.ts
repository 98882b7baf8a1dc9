// The sessions, messages and schema_version tables belong to Hermes Agent; this mirrors what its version 7 brought.
import { sql, type Kysely } from 'kysely'

const columns = {
  reasoning_content: sql`TEXT`,
}

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{
    name: string
  }>`select name from pragma_table_info('messages')`.execute(db)
  const present = new Set(rows.map((row) => row.name))
  for (const [name, definition] of Object.entries(columns)) {
    if (present.has(name)) continue
    await sql`alter table messages add column ${sql.id(name)} ${definition}`.execute(db)
  }
  await sql`CREATE TABLE IF NOT EXISTS state_meta (
    key TEXT PRIMARY KEY,
    value TEXT
)`.execute(db)
}

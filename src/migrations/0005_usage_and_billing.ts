// The sessions, messages and schema_version tables belong to Hermes Agent; this mirrors what its version 5 brought.
import { sql, type Kysely } from 'kysely'

const columns = {
  cache_read_tokens: sql`INTEGER DEFAULT 0`,
  cache_write_tokens: sql`INTEGER DEFAULT 0`,
  reasoning_tokens: sql`INTEGER DEFAULT 0`,
  billing_provider: sql`TEXT`,
  billing_base_url: sql`TEXT`,
  billing_mode: sql`TEXT`,
  estimated_cost_usd: sql`REAL`,
  actual_cost_usd: sql`REAL`,
  cost_status: sql`TEXT`,
  cost_source: sql`TEXT`,
  pricing_version: sql`TEXT`,
}

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{
    name: string
  }>`select name from pragma_table_info('sessions')`.execute(db)
  const present = new Set(rows.map((row) => row.name))
  for (const [name, definition] of Object.entries(columns)) {
    if (present.has(name)) continue
    await sql`alter table sessions add column ${sql.id(name)} ${definition}`.execute(db)
  }
}

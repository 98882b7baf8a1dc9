// Our own table: when something was last said in a conversation. Hermes Agent does not know it.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Beside `session_since`, which tells how long the conversation has been in its session. NULL in rows
  // from before: then that is all there is to know.
  const { rows } = await sql`
    select 1 from pragma_table_info('store_chat_routes') where name = 'last_interaction_at'
  `.execute(db)
  if (rows.length > 0) return
  await sql`alter table store_chat_routes add column last_interaction_at REAL`.execute(db)
}

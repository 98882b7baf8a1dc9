// Our own table: chats that go on under another id. Hermes Agent does not know it.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // `home_id` is the id the chat had first, under which its routes are kept: threads and the members'
  // own sessions move with it, also of those who have never written. What was delivered stays claimed
  // under the id it came with, because the platform counts messages anew in the new chat.
  await sql`create table if not exists store_chat_aliases (
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    home_id TEXT NOT NULL,
    migrated_at REAL NOT NULL,
    PRIMARY KEY (platform, account, chat_id)
  ) WITHOUT ROWID`.execute(db)
  await sql`create index if not exists store_chat_aliases_home
    on store_chat_aliases(platform, account, home_id, migrated_at)`.execute(db)
}

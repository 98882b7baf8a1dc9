// Our own table: which session a chat is talking in. Hermes Agent does not know it.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The structured parts are the identity: Hermes' key string joins them without escaping, so that
  // "topic 42" and "user 42" of one group look the same. Absent parts are empty, never NULL, because
  // NULLs would not collide. CASCADE: the agent must be able to delete a session that a chat is in.
  await sql`create table if not exists store_chat_routes (
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (platform, account, chat_type, chat_id, thread_id, user_id)
  )`.execute(db)
  await sql`create index if not exists store_chat_routes_session
    on store_chat_routes(session_id)`.execute(db)
}

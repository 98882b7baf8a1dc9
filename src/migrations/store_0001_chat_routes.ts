// Our own tables: which session a chat talks in, and which it talked in before. Hermes Agent does not
// know them.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The structured parts are the identity: Hermes' key string joins them without escaping, so that
  // "topic 42" and "user 42" of one group look the same. Absent parts are empty, never NULL, because
  // NULLs would not collide. `owner_id` is the one person the conversation is private to, empty when
  // several share it. SET NULL: the agent must be able to delete a session that a chat is in.
  await sql`create table if not exists store_chat_routes (
    id INTEGER PRIMARY KEY,
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    chat_type TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT REFERENCES sessions(id) ON DELETE SET NULL,
    session_since REAL NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (platform, account, chat_type, chat_id, thread_id, user_id)
  )`.execute(db)
  await sql`create index if not exists store_chat_routes_session
    on store_chat_routes(session_id)`.execute(db)
  await sql`create index if not exists store_chat_routes_owner
    on store_chat_routes(owner_id, platform, account)`.execute(db)

  // Every session a route ever had: what its people may search and resume.
  await sql`create table if not exists store_route_sessions (
    route_id INTEGER NOT NULL REFERENCES store_chat_routes(id) ON DELETE CASCADE,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    linked_at REAL NOT NULL,
    PRIMARY KEY (route_id, session_id)
  ) WITHOUT ROWID`.execute(db)
  await sql`create index if not exists store_route_sessions_session
    on store_route_sessions(session_id)`.execute(db)
}

// Our own tables: what messages said before they were edited, and those that were taken out of a
// session. Hermes Agent does not know them.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The text that an edit replaced, and how long it was the newest. The newest itself is in `messages`,
  // where Hermes reads it. CASCADE on both: what is deleted with its session is gone for good.
  await sql`create table if not exists store_revisions (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    content TEXT,
    edited_at REAL NOT NULL,
    stored_at REAL NOT NULL
  )`.execute(db)
  await sql`create index if not exists store_revisions_message
    on store_revisions(message_id, id)`.execute(db)
  await sql`create index if not exists store_revisions_session
    on store_revisions(session_id)`.execute(db)

  // Whole rows of `messages` under the ids they had. They are moved, not marked: Hermes knows no marks.
  await sql`create table if not exists store_hidden_messages (
    id INTEGER PRIMARY KEY,
    hidden_at REAL NOT NULL,
    reason TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tool_name TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER,
    finish_reason TEXT,
    reasoning TEXT,
    reasoning_content TEXT,
    reasoning_details TEXT,
    codex_reasoning_items TEXT,
    codex_message_items TEXT
  )`.execute(db)
  await sql`create index if not exists store_hidden_messages_session
    on store_hidden_messages(session_id, id)`.execute(db)
}

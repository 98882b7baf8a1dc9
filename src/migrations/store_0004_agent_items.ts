// Our own tables: what OpenAI Agents puts into a session, beside the messages that Hermes Agent reads.
// Hermes does not know them.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The items a message was made from, as they came. CASCADE: when Hermes deletes the message, they are
  // gone from the session too. `message_digest` tells whether somebody has written over the message since.
  await sql`create table if not exists store_agent_items (
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    item TEXT NOT NULL,
    message_digest TEXT NOT NULL,
    PRIMARY KEY (message_id, position)
  )`.execute(db)

  // Changes of the history that were carried out, so that one that is tried again is not made twice.
  await sql`create table if not exists store_agent_operations (
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    operation_id TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    applied_at REAL NOT NULL,
    PRIMARY KEY (session_id, operation_id)
  ) WITHOUT ROWID`.execute(db)
}

// Our own tables: what the platforms delivered, so that nothing is taken twice. Hermes Agent does not
// know them.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // One row a message of a person. `message_id` is `messages.id`, without a foreign key: the claim
  // must outlive a message that Hermes deletes or rewrites under a new id, or a late redelivery would
  // store it again. `settled_at` is empty while the message waits for its answer.
  await sql`create table if not exists store_inbound (
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    platform_message_id TEXT NOT NULL,
    route_id INTEGER NOT NULL REFERENCES store_chat_routes(id) ON DELETE CASCADE,
    message_id INTEGER NOT NULL,
    sender_id TEXT,
    sender_name TEXT,
    reply_to TEXT,
    sent_at REAL,
    received_at REAL NOT NULL,
    settled_at REAL,
    answer_id INTEGER,
    PRIMARY KEY (platform, account, chat_id, platform_message_id)
  ) WITHOUT ROWID`.execute(db)
  await sql`create index if not exists store_inbound_message
    on store_inbound(message_id)`.execute(db)
  await sql`create index if not exists store_inbound_pending
    on store_inbound(platform, account, received_at) where settled_at is null`.execute(db)

  // Commands are no messages of the conversation, but a redelivered "/new" must not reset twice.
  await sql`create table if not exists store_commands (
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    platform_message_id TEXT NOT NULL,
    verb TEXT NOT NULL,
    taken_at REAL NOT NULL,
    PRIMARY KEY (platform, account, chat_id, platform_message_id, verb)
  ) WITHOUT ROWID`.execute(db)
}

// Our own tables: what the chats' turns were, cost and sent. Hermes Agent does not know them.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // One row a turn, so that one recorded again is known. `answers` and `message_ids` (a JSON list) are
  // `messages.id`; there is no foreign key to sessions, because a turn must stay known when Hermes deletes
  // or rewrites what it made.
  await sql`create table if not exists store_turns (
    id INTEGER PRIMARY KEY,
    route_id INTEGER NOT NULL REFERENCES store_chat_routes(id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    operation_id TEXT,
    answers INTEGER,
    message_ids TEXT NOT NULL,
    recorded_at REAL NOT NULL
  )`.execute(db)
  await sql`create unique index if not exists store_turns_operation
    on store_turns(route_id, operation_id) where operation_id is not null`.execute(db)
  await sql`create index if not exists store_turns_answers
    on store_turns(answers) where answers is not null`.execute(db)
  await sql`create index if not exists store_turns_session
    on store_turns(session_id)`.execute(db)

  // What each person used in each conversation, by UTC day and model. '' is nobody and no model.
  await sql`create table if not exists store_usage (
    route_id INTEGER NOT NULL REFERENCES store_chat_routes(id) ON DELETE CASCADE,
    person_id TEXT NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    turns INTEGER NOT NULL,
    api_calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost_usd REAL,
    PRIMARY KEY (route_id, person_id, day, model)
  ) WITHOUT ROWID`.execute(db)

  // Replies from before they are sent until the platform has confirmed them; then `text` is emptied, for
  // the session has it. The parts of one answer are rows of their own. CASCADE: a reply of a session that
  // Hermes deleted is not sent any more. `maybe_sent` counts the attempts whose outcome is not known.
  await sql`create table if not exists store_outbox (
    id INTEGER PRIMARY KEY,
    turn_id INTEGER NOT NULL REFERENCES store_turns(id) ON DELETE CASCADE,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    message_id INTEGER NOT NULL,
    source TEXT NOT NULL,
    text TEXT NOT NULL,
    nonce TEXT NOT NULL,
    created_at REAL NOT NULL,
    attempts INTEGER NOT NULL,
    maybe_sent INTEGER NOT NULL,
    last_error TEXT,
    done_at REAL
  )`.execute(db)
  await sql`create index if not exists store_outbox_open
    on store_outbox(id) where done_at is null`.execute(db)
  await sql`create index if not exists store_outbox_turn
    on store_outbox(turn_id)`.execute(db)
  await sql`create index if not exists store_outbox_session
    on store_outbox(session_id)`.execute(db)

  // What the platform calls the messages we sent; a message that was sent in parts has several.
  await sql`create table if not exists store_outbound (
    platform TEXT NOT NULL,
    account TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    platform_message_id TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    sent_at REAL NOT NULL,
    deleted_at REAL,
    PRIMARY KEY (platform, account, chat_id, platform_message_id)
  ) WITHOUT ROWID`.execute(db)
  await sql`create index if not exists store_outbound_message
    on store_outbound(message_id)`.execute(db)

  // Who is at work on what, until when: one turn at a time in a session, one sender at a time for the
  // replies of a turn. A holder that died is recognised by `expires_at`.
  await sql`create table if not exists store_leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    renewed_at REAL NOT NULL,
    expires_at REAL NOT NULL
  ) WITHOUT ROWID`.execute(db)
}

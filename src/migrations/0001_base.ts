// The sessions, messages and schema_version tables belong to Hermes Agent; this mirrors what its version 1 brought.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER NOT NULL
)`.execute(db)
  await sql`CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    user_id TEXT,
    model TEXT,
    model_config TEXT,
    system_prompt TEXT,
    parent_session_id TEXT,
    started_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0,
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
)`.execute(db)
  await sql`CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tool_name TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER
)`.execute(db)
  await sql`CREATE INDEX IF NOT EXISTS idx_sessions_source ON sessions(source)`.execute(db)
  await sql`CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id)`.execute(
    db,
  )
  await sql`CREATE INDEX IF NOT EXISTS idx_sessions_started ON sessions(started_at DESC)`.execute(
    db,
  )
  await sql`CREATE INDEX IF NOT EXISTS idx_messages_session ON messages(session_id, timestamp)`.execute(
    db,
  )
  await createExternalIndex(db)
}

/** A full-text index without a text of its own. A file that has an index already keeps it. */
async function createExternalIndex(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`select 1 from sqlite_master where name = 'messages_fts'`.execute(db)
  if (rows.length > 0) return
  for (const suffix of ['insert', 'delete', 'update']) {
    await sql`drop trigger if exists ${sql.id(`messages_fts_${suffix}`)}`.execute(db)
  }
  await sql`CREATE VIRTUAL TABLE messages_fts USING fts5(
    content,
    content=messages,
    content_rowid=id
)`.execute(db)
  await sql`INSERT INTO messages_fts(messages_fts) VALUES('rebuild')`.execute(db)
  await sql`CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content);
END`.execute(db)
  await sql`CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content);
END`.execute(db)
  await sql`CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content);
    INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content);
END`.execute(db)
}

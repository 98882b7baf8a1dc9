// The sessions, messages and index tables belong to Hermes Agent; this mirrors what its version 11 brought.
import { sql, type Kysely } from 'kysely'

/** What a file born at version 11 has for the two tables. */
export const bornAt11 = {
  sessions: `CREATE TABLE sessions (
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
    cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0,
    billing_provider TEXT,
    billing_base_url TEXT,
    billing_mode TEXT,
    estimated_cost_usd REAL,
    actual_cost_usd REAL,
    cost_status TEXT,
    cost_source TEXT,
    pricing_version TEXT,
    title TEXT,
    api_call_count INTEGER DEFAULT 0,
    handoff_state TEXT,
    handoff_platform TEXT,
    handoff_error TEXT,
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
)`,
  messages: `CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
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
)`,
}

const handoffColumns = ['handoff_state', 'handoff_platform', 'handoff_error']

/** Both full-text indexes with a text of their own, and the triggers that keep them, as the file stores them. */
export const searchObjects: Readonly<Record<string, string>> = {
  messages_fts: `CREATE VIRTUAL TABLE messages_fts USING fts5(
    content
)`,
  messages_fts_trigram: `CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
    content,
    tokenize='trigram'
)`,
  messages_fts_insert: `CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content) VALUES (
        new.id,
        COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END`,
  messages_fts_delete: `CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
    DELETE FROM messages_fts WHERE rowid = old.id;
END`,
  messages_fts_update: `CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN
    DELETE FROM messages_fts WHERE rowid = old.id;
    INSERT INTO messages_fts(rowid, content) VALUES (
        new.id,
        COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END`,
  messages_fts_trigram_insert: `CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts_trigram(rowid, content) VALUES (
        new.id,
        COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END`,
  messages_fts_trigram_delete: `CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages BEGIN
    DELETE FROM messages_fts_trigram WHERE rowid = old.id;
END`,
  messages_fts_trigram_update: `CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE ON messages BEGIN
    DELETE FROM messages_fts_trigram WHERE rowid = old.id;
    INSERT INTO messages_fts_trigram(rowid, content) VALUES (
        new.id,
        COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END`,
}

const ROWS_PER_CHUNK = 500

/** Called after each chunk of a long step with rows done and rows in all; may yield to the event loop. */
type Report = (done: number, total: number) => void | Promise<void>

export async function up(db: Kysely<unknown>, report?: Report): Promise<void> {
  await addHandoffColumns(db)
  await adoptColumnOrder(db)
  if (await isIndexed(db)) return
  for (const [name, kind] of objectKinds()) {
    await sql`drop ${sql.raw(kind)} if exists ${sql.id(name)}`.execute(db)
  }
  for (const [name, kind] of objectKinds()) {
    if (kind === 'table') await sql.raw(searchObjects[name]!).execute(db)
  }
  await fillIndexes(db, report)
  for (const [name, kind] of objectKinds()) {
    if (kind === 'trigger') await sql.raw(searchObjects[name]!).execute(db)
  }
}

/** Triggers first: they must be gone before the tables they write to. */
function objectKinds(): [name: string, kind: 'table' | 'trigger'][] {
  return Object.entries(searchObjects)
    .map(([name, ddl]): [string, 'table' | 'trigger'] => [
      name,
      ddl.startsWith('CREATE TRIGGER') ? 'trigger' : 'table',
    ])
    .sort(([, a], [, b]) => b.localeCompare(a))
}

async function addHandoffColumns(db: Kysely<unknown>): Promise<void> {
  const present = await columnsOf(db, 'sessions')
  for (const name of handoffColumns) {
    if (present.includes(name)) continue
    await sql`alter table sessions add column ${sql.id(name)} TEXT`.execute(db)
  }
}

/**
 * A new file has its columns in the order in which the versions brought them, one born at 11 in the
 * order of its DDL. While no row was ever stored the tables can simply be made again.
 */
async function adoptColumnOrder(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ used: number }>`select
    exists (select 1 from sessions)
    or exists (select 1 from sqlite_sequence where name = 'messages')
    or exists (select 1 from sqlite_master where type = 'table' and name like 'telegram_%') as used
  `.execute(db)
  if (rows[0]?.used !== 0) return
  if (!(await isReordered(db, 'sessions')) && !(await isReordered(db, 'messages'))) return
  const indexes = await sql<{ sql: string }>`
    select sql from sqlite_master
    where type = 'index' and tbl_name in ('sessions', 'messages') and sql is not null
  `.execute(db)
  await sql`drop table messages`.execute(db)
  await sql`drop table sessions`.execute(db)
  await sql.raw(bornAt11.sessions).execute(db)
  await sql.raw(bornAt11.messages).execute(db)
  for (const index of indexes.rows) await sql.raw(index.sql).execute(db)
}

/** Whether the table has just the columns of version 11, but in another order. */
async function isReordered(db: Kysely<unknown>, table: 'sessions' | 'messages'): Promise<boolean> {
  const actual = await columnsOf(db, table)
  const wanted = Array.from(bornAt11[table].matchAll(/^ {4}([a-z_]+) /gm), ([, name]) => name)
  return actual.join() !== wanted.join() && new Set([...actual, ...wanted]).size === wanted.length
}

async function columnsOf(db: Kysely<unknown>, table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from pragma_table_info(${table}) order by cid
  `.execute(db)
  return rows.map((row) => row.name)
}

/** Whether every index object is as version 11 makes it and both reach from the first row to the last. */
export async function isIndexed(db: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{ name: string; sql: string }>`
    select name, sql from sqlite_master where name like 'messages_fts%'
  `.execute(db)
  const live = new Map(rows.map((row) => [row.name, row.sql]))
  for (const [name, ddl] of Object.entries(searchObjects)) {
    if (folded(live.get(name) ?? '') !== folded(ddl)) return false
  }
  // What a rebuild in short steps has not got to yet is not made up for under one long lock.
  const rebuilding = await sql`
    select 1 from state_meta where key = 'store_index_rebuild'
  `.execute(db)
  if (rebuilding.rows.length > 0) return true
  // One at a time: `min` and `max` side by side read the whole table.
  const bounds = await sql<{ first: number | null; last: number | null }>`
    select (select min(id) from messages) as first, (select max(id) from messages) as last
    union all
    select (select min(id) from messages_fts_docsize), (select max(id) from messages_fts_docsize)
    union all
    select (select min(id) from messages_fts_trigram_docsize),
      (select max(id) from messages_fts_trigram_docsize)
  `.execute(db)
  const [messages, ...indexes] = bounds.rows
  return indexes.every((index) => index.first === messages?.first && index.last === messages?.last)
}

function folded(ddl: string): string {
  return ddl.replaceAll(/\s+/g, ' ').trim()
}

/**
 * In chunks, so that neither memory nor the wait for the next progress report grows with the file.
 * The trigram index gets no NUL: the agent's SQLite would cut such a text otherwise than ours, and
 * leave its entries behind when it deletes the message. Structured content has one at its start, which
 * is left out; at any other, the text ends for the agent's SQLite and so it does here.
 */
async function fillIndexes(db: Kysely<unknown>, report: Report | undefined): Promise<void> {
  const count = await sql<{ total: number }>`select count(*) as total from messages`.execute(db)
  const total = count.rows[0]?.total ?? 0
  let done = 0
  let after = Number.MIN_SAFE_INTEGER
  while (done < total) {
    const chunk = await sql<{ size: number; last: number }>`
      select count(*) as size, max(id) as last from (
        select id from messages where id > ${after} order by id limit ${ROWS_PER_CHUNK}
      )
    `.execute(db)
    const { size, last } = chunk.rows[0] ?? { size: 0, last: after }
    if (size === 0) break
    await sql`
      insert into messages_fts(rowid, content)
      select id, coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '')
      from messages where id > ${after} and id <= ${last}
    `.execute(db)
    await sql`
      insert into messages_fts_trigram(rowid, content)
      select id, iif(instr(text, char(0)), substr(text, 1, length(text)), text) from (
        select id, iif(
          instr(text, char(0)) = 1, cast(substr(cast(text as blob), 2) as text), text
        ) as text from (
          select id, coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '') as text
          from messages where id > ${after} and id <= ${last}
        )
      )
    `.execute(db)
    after = last
    done += size
    await report?.(done, total)
  }
}

import { sql, type Kysely, type Transaction } from 'kysely'

import type { Database } from '../schema/database.ts'

/** Where the agent notes which form of the two tables a file has. */
const VERSION_KEY = 'telegram_dm_topic_schema_version'
const VERSION = 2

const MODE_TABLE = `CREATE TABLE IF NOT EXISTS telegram_dm_topic_mode (
                    chat_id TEXT PRIMARY KEY,
                    user_id TEXT NOT NULL,
                    enabled INTEGER NOT NULL DEFAULT 1,
                    activated_at REAL NOT NULL,
                    updated_at REAL NOT NULL,
                    has_topics_enabled INTEGER,
                    allows_users_to_create_topics INTEGER,
                    capability_checked_at REAL,
                    intro_message_id TEXT,
                    pinned_message_id TEXT
                )`

const BINDINGS_TABLE = `CREATE TABLE IF NOT EXISTS telegram_dm_topic_bindings (
                    chat_id TEXT NOT NULL,
                    thread_id TEXT NOT NULL,
                    user_id TEXT NOT NULL,
                    session_key TEXT NOT NULL,
                    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
                    managed_mode TEXT NOT NULL DEFAULT 'auto',
                    linked_at REAL NOT NULL,
                    updated_at REAL NOT NULL,
                    PRIMARY KEY (chat_id, thread_id)
                )`

const BINDINGS_INDEXES = [
  `CREATE UNIQUE INDEX IF NOT EXISTS idx_telegram_dm_topic_bindings_session
                ON telegram_dm_topic_bindings(session_id)`,
  `CREATE INDEX IF NOT EXISTS idx_telegram_dm_topic_bindings_user
                ON telegram_dm_topic_bindings(user_id, chat_id)`,
]

/** Whether both tables are there in the current form (spec §16). */
export async function hasTopicTables(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql<{ tables: number }>`
    select count(*) as tables from sqlite_master where type = 'table'
    and name in ('telegram_dm_topic_mode', 'telegram_dm_topic_bindings')`.execute(db)
  return rows[0]?.tables === 2 && (await versionOf(db)) >= VERSION
}

/** Makes what is missing, and rebuilds bindings that would keep a session from being deleted. */
export async function createTopicTables(trx: Transaction<Database>): Promise<void> {
  await sql.raw(MODE_TABLE).execute(trx)
  await sql.raw(BINDINGS_TABLE).execute(trx)
  const version = await versionOf(trx)
  if (version < VERSION && !(await bindingsCascade(trx))) await rebuildBindings(trx)
  for (const index of BINDINGS_INDEXES) await sql.raw(index).execute(trx)
  if (version >= VERSION) return
  const value = String(VERSION)
  await trx
    .insertInto('state_meta')
    .values({ key: VERSION_KEY, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

async function versionOf(db: Kysely<Database>): Promise<number> {
  const row = await db
    .selectFrom('state_meta')
    .select('value')
    .where('key', '=', VERSION_KEY)
    .executeTakeFirst()
  const version = Number(row?.value)
  return Number.isNaN(version) ? 0 : version
}

async function bindingsCascade(trx: Transaction<Database>): Promise<boolean> {
  const { rows } = await sql<{ onDelete: string }>`
    select on_delete as "onDelete" from pragma_foreign_key_list('telegram_dm_topic_bindings')
    where "table" = 'sessions'`.execute(trx)
  return rows.some((key) => key.onDelete === 'CASCADE')
}

async function rebuildBindings(trx: Transaction<Database>): Promise<void> {
  await sql
    .raw('ALTER TABLE telegram_dm_topic_bindings RENAME TO telegram_dm_topic_bindings_v1')
    .execute(trx)
  await sql.raw(BINDINGS_TABLE).execute(trx)
  const columns = sql.raw(
    'chat_id, thread_id, user_id, session_key, session_id, managed_mode, linked_at, updated_at',
  )
  // A binding whose session is gone is one that the cascade would have taken with it.
  await sql`
    insert into telegram_dm_topic_bindings (${columns})
    select ${columns} from telegram_dm_topic_bindings_v1
    where session_id in (select id from sessions)`.execute(trx)
  await sql.raw('DROP TABLE telegram_dm_topic_bindings_v1').execute(trx)
}

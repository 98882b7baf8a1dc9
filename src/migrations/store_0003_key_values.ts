// Our own tables: values under keys, for what chat libraries keep beside the conversation. Hermes Agent
// does not know them.
import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // One row a key of a namespace. `kind` keeps apart what one library files under equal keys: its values,
  // locks, lists, queues. `value` is NULL for a list, whose items are rows of their own, so that adding
  // one does not write the others again.
  await sql`create table if not exists store_key_values (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    expires_at REAL,
    UNIQUE (namespace, kind, key)
  )`.execute(db)
  await sql`create index if not exists store_key_values_expiry
    on store_key_values(expires_at) where expires_at is not null`.execute(db)

  await sql`create table if not exists store_list_items (
    id INTEGER PRIMARY KEY,
    list_id INTEGER NOT NULL REFERENCES store_key_values(id) ON DELETE CASCADE,
    value TEXT NOT NULL,
    expires_at REAL
  )`.execute(db)
  await sql`create index if not exists store_list_items_list
    on store_list_items(list_id, id)`.execute(db)
}

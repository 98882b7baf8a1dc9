// The sessions, messages and schema_version tables belong to Hermes Agent; this mirrors what its version 10 brought.
import { sql, type Kysely } from 'kysely'

/**
 * `willBeReplaced` leaves the new index empty, for a run that goes on to version 11, whose step
 * builds both indexes anew.
 */
export async function up(db: Kysely<unknown>, willBeReplaced = false): Promise<void> {
  const { rows } = await sql`
    select 1 from sqlite_master where name = 'messages_fts_trigram'
  `.execute(db)
  if (rows.length > 0) return
  for (const suffix of ['insert', 'delete', 'update']) {
    await sql`drop trigger if exists ${sql.id(`messages_fts_trigram_${suffix}`)}`.execute(db)
  }
  await sql`CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
    content,
    content=messages,
    content_rowid=id,
    tokenize='trigram'
)`.execute(db)
  if (!willBeReplaced) {
    await sql`INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES('rebuild')`.execute(db)
  }
  await sql`CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts_trigram(rowid, content) VALUES (new.id, new.content);
END`.execute(db)
  await sql`CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content) VALUES('delete', old.id, old.content);
END`.execute(db)
  await sql`CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE ON messages BEGIN
    INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content) VALUES('delete', old.id, old.content);
    INSERT INTO messages_fts_trigram(rowid, content) VALUES (new.id, new.content);
END`.execute(db)
}

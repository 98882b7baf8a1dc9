import { copyFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'

import { fixturePath, withFile } from './state-file.ts'
import { tempFolder } from './temp-store.ts'

/** A file of version 9, before the indexes were rebuilt, with that many messages of that many bytes. */
export function bigV9(t: TestContext, messages: number, bytes: number): string {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(fixturePath('v8'), file)
  withFile(file, (db) => {
    db.exec(`
      alter table messages add column codex_message_items TEXT;
      update schema_version set version = 9;
      create temp table triggers as select name, sql from sqlite_master where type = 'trigger'`)
    const triggers = db.prepare<[], { name: string; sql: string }>('select * from triggers').all()
    for (const { name } of triggers) db.exec(`drop trigger ${name}`)
    db.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into messages (session_id, role, content, timestamp)
       select (select id from sessions limit 1), 'user',
         'number ' || i || ' ' || hex(randomblob(?)), 1700000000 + i from n`,
    ).run(messages, Math.ceil(bytes / 2))
    db.exec(`insert into messages_fts(messages_fts) values ('rebuild')`)
    for (const { sql } of triggers) db.exec(sql)
  })
  return file
}

import fs from 'node:fs'

import SqliteDatabase from 'better-sqlite3'

export type SearchIndex = 'messages_fts' | 'messages_fts_trigram'

/** Ways in which an index breaks, as SQL with `$` for its name. */
export const INDEX_DAMAGES: Readonly<Record<string, string>> = {
  'a broken structure record': `update $_data set block = x'00ff00ff' where id = 10`,
  'broken records': `update $_data set block = x'00ff00ff' where id in (1, 10)`,
  'broken pages': `update $_data set block = zeroblob(length(block)) where id > 10`,
  'no structure record': `delete from $_data where id = 10`,
  'no records': `delete from $_data`,
  'an entry too many': `insert into $_docsize select max(id) + 1, x'01' from messages;
    insert into $_content select max(id) + 1, 'x' from messages`,
  'a missing table': `drop table $_data`,
  'no index at all': `drop table $`,
  'another format': `update $_config set v = 99`,
}

/** Damages an index behind the store's back. */
export function damageIndex(file: string, index: SearchIndex, damage: string): void {
  const raw = new SqliteDatabase(file)
  raw.unsafeMode(true)
  raw.exec(damage.replaceAll('$', index))
  raw.close()
}

/** Writes zeros over every page of a table or index of a file that nobody has open. */
export function damagePages(file: string, name: string): void {
  const raw = new SqliteDatabase(file)
  raw.pragma('wal_checkpoint(TRUNCATE)')
  const pages = raw.prepare('select pageno from dbstat where name = ?').pluck().all(name)
  const size = raw.pragma('page_size', { simple: true }) as number
  raw.close()
  const descriptor = fs.openSync(file, 'r+')
  for (const page of pages as number[]) {
    fs.writeSync(descriptor, new Uint8Array(size), 0, size, (page - 1) * size)
  }
  fs.closeSync(descriptor)
}

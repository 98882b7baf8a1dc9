import SqliteDatabase from 'better-sqlite3'

import { textOf } from './temp-file.ts'

/** What the store does for one message, on the driver itself with its statements kept. */
export function rawWriter(file: string, session = 's', timeoutMs = 5_000) {
  const raw = new SqliteDatabase(file, { timeout: timeoutMs })
  raw.pragma('synchronous = FULL')
  const begin = raw.prepare('begin immediate')
  const commit = raw.prepare('commit')
  const insert = raw.prepare(
    `insert into messages (session_id, role, content, timestamp) values (?, 'user', ?, ?)`,
  )
  const count = raw.prepare(`update sessions set message_count = message_count + 1 where id = ?`)
  return {
    append(...contents: readonly string[]): void {
      begin.run()
      for (const content of contents) {
        insert.run(session, content, Date.now() / 1000)
        count.run(session)
      }
      commit.run()
    },
    close(): void {
      raw.close()
    },
  }
}

/** Messages a second. */
export function rawRate(file: string, messages: number, perTransaction = 1): number {
  const writer = rawWriter(file)
  const startedAt = performance.now()
  for (let n = 0; n < messages; n += perTransaction) {
    writer.append(...Array.from({ length: perTransaction }, (_, k) => textOf(n + k)))
  }
  const seconds = (performance.now() - startedAt) / 1000
  writer.close()
  return messages / seconds
}

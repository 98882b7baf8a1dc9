import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import SqliteDatabase from 'better-sqlite3'

import { openStore, type NewMessage, type Store } from '../src/index.ts'
import { medians } from './medians.ts'
import type { BenchRow, BenchSuite } from './row.ts'

const SESSIONS = 200
const MESSAGES_PER_SESSION = 100
const LONG_SESSION = 2_000
const BATCH = 500

const CHAT_COLUMNS = `role, content, tool_call_id, tool_calls, tool_name, finish_reason, reasoning,
  reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items`

/** Reading and writing messages against the same SQL through the driver alone, statements prepared. */
export const messages: BenchSuite = {
  name: 'messages',
  async *rows() {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'hermes-bench-'))
    try {
      const [ours, raw] = [path.join(folder, 'ours.db'), path.join(folder, 'raw.db')]
      // One each, of the same content: two writers on one file would measure each other's lock.
      for (const file of [ours, raw]) await fill(file)
      await using store = await openStore({ path: ours })
      const db = openRaw(raw)
      try {
        yield* reads(store, db)
        yield* writes(store, db)
      } finally {
        db.close()
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function* reads(store: Store, db: SqliteDatabase.Database): AsyncGenerator<BenchRow> {
  const one = db.prepare(`select ${CHAT_COLUMNS} from messages where session_id = ? order by id`)
  for (const [id, size] of [
    ['session 7', MESSAGES_PER_SESSION],
    ['long', LONG_SESSION],
  ] as const) {
    const name = `conversation of ${size.toLocaleString('en')} messages`
    yield row(
      name,
      await medians(
        () => store.messages.conversation(id),
        () => one.all(id),
      ),
    )
    // How much of that is the JSON that a model has to be sent parsed.
    const parsed = await medians(
      () => store.messages.conversation(id),
      () => (one.all(id) as { tool_calls: string | null }[]).map(parseToolCalls),
    )
    yield { ...row(name, parsed), against: { name: 'and its JSON parsed', value: parsed[1] } }
  }
  const all = db.prepare('select * from messages where session_id = ? order by id')
  yield row(
    `list of ${MESSAGES_PER_SESSION} messages`,
    await medians(
      () => store.messages.list('session 7'),
      () => all.all('session 7'),
    ),
  )
}

function parseToolCalls(stored: { tool_calls: string | null }): object {
  const toolCalls: unknown = stored.tool_calls === null ? null : JSON.parse(stored.tool_calls)
  return { ...stored, tool_calls: toolCalls }
}

async function* writes(store: Store, db: SqliteDatabase.Database): AsyncGenerator<BenchRow> {
  const message = textMessage(1)
  yield row(
    'append',
    await medians(() => store.messages.append('session 9', message), rawAppends(db, [message])),
  )
  const batch = Array.from({ length: BATCH }, (_, n) => textMessage(n))
  yield row(
    `appendMany of ${BATCH}`,
    await medians(() => store.messages.appendMany('session 9', batch), rawAppends(db, batch)),
  )
  const structured = { role: 'user', content: [{ type: 'text', text: message.content }] }
  const stored = { role: 'user', content: `\0json:${JSON.stringify(structured.content)}` }
  yield row(
    'append of structured content',
    await medians(() => store.messages.append('session 9', structured), rawAppends(db, [stored])),
    'ours makes the trigram index one the agent agrees with',
  )
}

function rawAppends(db: SqliteDatabase.Database, batch: readonly NewMessage[]): () => void {
  const insert = db.prepare(
    'insert into messages (session_id, role, content, timestamp) values (?, ?, ?, ?)',
  )
  const count = db.prepare(
    `update sessions set message_count = message_count + ?, tool_call_count = tool_call_count + 0
     where id = ?`,
  )
  const append = db.transaction(() => {
    for (const { role, content } of batch) insert.run('session 9', role, content, Date.now() / 1000)
    count.run(batch.length, 'session 9')
  })
  return () => append.immediate()
}

function row(name: string, [ours, value]: [number, number], note?: string): BenchRow {
  return {
    name,
    ours,
    unit: 'ms',
    against: { name: 'the same SQL', value },
    goal: { atMost: 1.25 },
    ...(note !== undefined && { note }),
  }
}

async function fill(file: string): Promise<void> {
  await using store = await openStore({ path: file, synchronous: 'NORMAL' })
  const sessions = Array.from({ length: SESSIONS }, (_, n) => `session ${n}`)
  for (const id of [...sessions, 'long']) {
    const size = id === 'long' ? LONG_SESSION : MESSAGES_PER_SESSION
    await store.sessions.create({ id, source: 'cli' })
    await store.messages.appendMany(
      id,
      Array.from({ length: size }, (_, n) => (n % 4 === 3 ? toolMessage(n) : textMessage(n))),
    )
  }
}

function openRaw(file: string): SqliteDatabase.Database {
  const db = new SqliteDatabase(file)
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  return db
}

/** Sixty words, of a vocabulary as people have it. */
function textMessage(n: number): NewMessage & { content: string } {
  const words = Array.from({ length: 60 }, (_, place) => `w${(n * 31 + place * place) % 997}`)
  return { role: n % 2 === 0 ? 'user' : 'assistant', content: words.join(' ') }
}

function toolMessage(n: number): NewMessage {
  const call = {
    id: `call_${n}`,
    type: 'function',
    function: { name: 'terminal', arguments: '{}' },
  }
  return { role: 'assistant', toolCalls: [call], finishReason: 'tool_calls' }
}

import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import SqliteDatabase from 'better-sqlite3'
import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
} from 'kysely'

import { openStore, type Database } from '../src/index.ts'
import { LineageRepository } from '../src/repositories/lineage-repository.ts'
import { SessionRepository } from '../src/repositories/session-repository.ts'
import { medians } from './medians.ts'
import type { BenchRow, BenchSuite } from './row.ts'

const MESSAGES_PER_SESSION = 10
/** Of ten sessions the eighth ends by compression, the ninth carries it on, the tenth is a sub-agent's. */
const FAMILY = 10
/** A prompt of the usual size, since it lies in every row a list reads. */
const PROMPT = 'You are a helpful assistant. '.repeat(200)

interface Readable {
  readonly sessions: Pick<SessionRepository, 'list' | 'recent' | 'find' | 'resolveId'>
  readonly lineage: LineageRepository
}

type Call = (store: Readable) => Promise<unknown>

const CALLS: readonly [name: string, call: Call][] = [
  ['list(20)', (store) => store.sessions.list()],
  ['list(20) of a source', (store) => store.sessions.list({ source: 'telegram' })],
  ['recent(20)', (store) => store.sessions.recent()],
  ['find', (store) => store.sessions.find(idOf(FAMILY + 7))],
  ['lineage.tip', (store) => store.lineage.tip(idOf(FAMILY + 7))],
  ['lineage.ancestors', (store) => store.lineage.ancestors(idOf(FAMILY + 8))],
  ['lineage.descendants', (store) => store.lineage.descendants(idOf(FAMILY + 7))],
  ['lineage.resumeTarget', (store) => store.lineage.resumeTarget(idOf(FAMILY + 7))],
]

/** How spec §10 words it: every conversation's activity, then the order. */
const BY_ACTIVITY = `
  with recursive chain(root, id) as (
    select s.id, s.id from sessions s where s.parent_session_id is null
    union all
    select chain.root, next.id from chain
      join sessions current on current.id = chain.id
      join sessions next on next.parent_session_id = current.id
    where current.end_reason = 'compression' and next.started_at >= current.ended_at
  ), activity as (
    select root, max(coalesce(
      (select max(timestamp) from messages where session_id = s.id), s.started_at)) as at
    from chain join sessions s on s.id = chain.id group by root
  )
  select s.* from activity join sessions s on s.id = activity.root
  order by activity.at desc, s.started_at desc, s.id desc limit 20`

/** Each call beside its own SQL, or v11's, prepared once through better-sqlite3 in the same process. */
export const listsSuite: BenchSuite = { name: 'lists', rows }

async function* rows(): AsyncGenerator<BenchRow> {
  for (const sessions of [200, 20_000]) {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'hermes-bench-'))
    try {
      const file = path.join(folder, 'state.db')
      await (await openStore({ path: file })).close()
      fill(file, sessions)
      for await (const row of compare(file, sessions)) yield row
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

async function* compare(file: string, sessions: number): AsyncGenerator<BenchRow> {
  await using store = await openStore({ path: file, readonly: true })
  const db = new SqliteDatabase(file, { readonly: true })
  try {
    const size = `${sessions.toLocaleString('en')} sessions`
    for (const [name, call] of CALLS) {
      const [ours, value] = await medians(() => call(store), await sqlOf(call, db))
      const against = { name: 'its own SQL', value }
      yield { name: `${name}, ${size}`, ours, unit: 'ms', against, goal: { atMost: 1.25 } }
    }
    const statement = db.prepare(BY_ACTIVITY)
    const [ours, value] = await medians(
      () => store.sessions.list({ orderByLastActive: true }),
      () => statement.all(),
    )
    const against = { name: "v11's SQL, less previews", value }
    const name = `list(20) by activity, ${size}`
    yield { name, ours, unit: 'ms', against, goal: { atMost: 1.25 } }
  } finally {
    db.close()
  }
}

/** Runs the call where nothing answers, and returns what runs the statement it asked for. */
async function sqlOf(call: Call, db: SqliteDatabase.Database): Promise<() => unknown> {
  const asked: CompiledQuery[] = []
  const read = new Kysely<Database>({
    dialect: {
      createDriver: () => new DummyDriver(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => {
      asked.push(query)
    },
  })
  const handle = { read, heavy: read, write: () => Promise.reject(new Error('a bench row writes')) }
  await call({ sessions: new SessionRepository(handle), lineage: new LineageRepository(handle) })
  const [query, ...others] = asked
  if (!query || others.length > 0) throw new Error(`asked ${asked.length} queries instead of one`)
  const statement = db.prepare(query.sql)
  return () => statement.all(...query.parameters)
}

function idOf(index: number): string {
  return `20260201_000000_${index.toString(16).padStart(8, '0')}`
}

function fill(file: string, sessions: number): void {
  const db = new SqliteDatabase(file)
  try {
    db.pragma('synchronous = OFF')
    // The text indexes take most of the time and no list reads them.
    db.exec('drop trigger messages_fts_insert; drop trigger messages_fts_trigram_insert')
    const addSession = db.prepare(
      `insert into sessions (id, source, system_prompt, parent_session_id, started_at, ended_at,
         end_reason) values (?, ?, ?, ?, ?, ?, ?)`,
    )
    const addMessage = db.prepare(
      'insert into messages (session_id, role, content, timestamp) values (?, ?, ?, ?)',
    )
    db.transaction(() => {
      for (let index = 0; index < sessions; index += 1) {
        const place = index % FAMILY
        const at = 1_770_000_000 + index * 60
        const source = index % 3 === 0 ? 'telegram' : 'cli'
        const parent = place === 8 ? idOf(index - 1) : place === 9 ? idOf(index - 3) : null
        const end = place === 7 ? [at + 30, 'compression'] : [null, null]
        addSession.run(idOf(index), source, PROMPT, parent, at, ...end)
        for (let said = 0; said < MESSAGES_PER_SESSION; said += 1) {
          const role = said % 2 === 0 ? 'user' : 'assistant'
          addMessage.run(idOf(index), role, `a message of usual length, number ${said}`, at + said)
        }
      }
    })()
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

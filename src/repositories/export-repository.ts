import { sql, type Kysely } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { lookupText, optionalText, requireObject } from './input.ts'
import { readMessages } from './message-pages.ts'
import type { Message } from './message-row.ts'
import { sessionColumns, toSession, type Session } from './session-row.ts'

/** A session with all of its messages (spec §14). */
export interface ExportedSession extends Session {
  /** By id, the first one first. */
  messages: Message[]
}

/** A session as `exports.all` gives it. */
export interface ListedExport extends ExportedSession {
  /** Time of the newest message, else of the start; seconds since the epoch. */
  lastActive: number
}

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('sessions').select(sessionColumns).where('id', '=', p.id),
)

const idsByActivity = prepare<{ source: string | null }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where(sql<boolean>`(${p.source} is null or source = ${p.source})`)
    .orderBy(
      (eb) =>
        eb.fn.coalesce(
          eb
            .selectFrom('messages')
            .select((inner) => inner.fn.max('timestamp').as('newest'))
            .whereRef('messages.session_id', '=', 'sessions.id'),
          'started_at',
        ),
      'desc',
    )
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc'),
)

/** Whole sessions with their messages, to be kept elsewhere (spec §14). */
export class ExportRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /** Undefined when there is no such session. */
  async session(id: string): Promise<ExportedSession | undefined> {
    return readSession(this.#db.read, lookupText('id', id))
  }

  /**
   * Every session that is there at the start, the one last talked in first. Each is read when it is
   * asked for, in short reads: one session and the list of ids are all that is in memory, and nobody
   * waits for a slow reader. A session deleted meanwhile is left out.
   */
  all(options: { source?: string } = {}): AsyncIterableIterator<ListedExport> {
    requireObject('options', options)
    const source = optionalText('source', options.source)
    return readAll(this.#db, source === '' ? null : source)
  }
}

async function* readAll(db: Handle, source: string | null): AsyncIterableIterator<ListedExport> {
  for (const { id } of await idsByActivity.all(db.heavy, { source })) {
    const session = await readSession(db.read, id)
    if (session) yield { ...session, lastActive: lastActive(session) }
  }
}

async function readSession(db: Kysely<Database>, id: string): Promise<ExportedSession | undefined> {
  const row = await byId.first(db, { id })
  const page = { sessionId: id, afterId: Number.MIN_SAFE_INTEGER, limit: -1 }
  return row && { ...toSession(row), messages: await readMessages(db, page) }
}

function lastActive({ startedAt, messages }: ExportedSession): number {
  let newest: number | undefined
  for (const { timestamp } of messages) newest = Math.max(newest ?? timestamp, timestamp)
  return newest ?? startedAt
}

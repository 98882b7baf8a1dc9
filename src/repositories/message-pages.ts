import { sql, type Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { messageColumns, toMessage, type Message } from './message-row.ts'

/**
 * Messages of a session by id. The ids are looked up first, in the index alone: the long messages
 * before and after the page stay unread.
 */
export const pageOfMessages = prepare<Page>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('session_id', '=', p.sessionId)
        .where('id', '>', p.afterId)
        .orderBy('id')
        .limit(p.limit),
    )
    .orderBy('id'),
)

const idsOfPage = prepare<Page>()((db, p) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('session_id', '=', p.sessionId)
    .where('id', '>', p.afterId)
    .orderBy('id')
    .limit(p.limit),
)

const messagesWithIds = prepare<{ ids: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('id', 'in', sql<number>`(select value from json_each(${p.ids}))`)
    .orderBy('id'),
)

interface Page {
  sessionId: string
  /** The last id of the page before. */
  afterId: number
  /** -1 is all. */
  limit: number
}

/** The messages of `pageOfMessages`, however many: nobody has to wait for them to be read. */
export function readMessages(db: Kysely<Database>, page: Page): Promise<Message[]> {
  return readInTurns(db, page.limit, toMessage, {
    first: (on, limit) => pageOfMessages.all(on, { ...page, limit }),
    ids: (on) => idsOfPage.all(on, page),
    rows: (on, ids) => messagesWithIds.all(on, { ids }),
  })
}

/** What a long read asks for, in the order of ids. */
export interface LongRead<R> {
  first(db: Kysely<Database>, limit: number): Promise<R[]>
  ids(db: Kysely<Database>): Promise<{ id: number }[]>
  /** Those of a JSON list of ids. */
  rows(db: Kysely<Database>, ids: string): Promise<R[]>
}

/** A few milliseconds. */
const ROWS_PER_TURN = 2500

// Taken now, so that an application that replaces timers in its tests does not stop a long read.
const { setImmediate: nextTurn } = globalThis

/**
 * Few rows in one statement. Many in several, between which the rest of the process gets its turn,
 * and in a transaction of their own: what somebody replaces meanwhile is not mixed in.
 */
export async function readInTurns<R, T>(
  db: Kysely<Database>,
  limit: number,
  toResult: (row: R) => T,
  read: LongRead<R>,
): Promise<T[]> {
  const isShort = limit !== -1 && limit < ROWS_PER_TURN
  const first = await read.first(db, isShort ? limit : ROWS_PER_TURN)
  if (isShort || first.length < ROWS_PER_TURN) return first.map(toResult)
  const readAll = async (snapshot: Kysely<Database>): Promise<T[]> => {
    const ids = (await read.ids(snapshot)).map(({ id }) => id)
    const results: T[] = []
    for (let start = 0; start < ids.length; start += ROWS_PER_TURN) {
      await new Promise<void>((resume) => void nextTurn(resume))
      const some = JSON.stringify(ids.slice(start, start + ROWS_PER_TURN))
      for (const row of await read.rows(snapshot, some)) results.push(toResult(row))
    }
    return results
  }
  return db.isTransaction ? readAll(db) : db.transaction().execute(readAll)
}

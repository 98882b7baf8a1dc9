import { sql, type Kysely } from 'kysely'

import { limitOf } from '../repositories/input.ts'
import type { Database } from '../schema/database.ts'
import type { Chat } from './chat.ts'
import { inScope, scopeOf, type Listing, type Scope } from './scope.ts'

/** A session as a chat may be shown it. Times are seconds since the epoch. */
export interface SessionEntry {
  readonly id: string
  readonly source: string
  readonly title: string | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly lastActive: number
  readonly messageCount: number
}

/** The sessions in scope that anything was said in, the last used first. */
export async function listSessions(
  db: Kysely<Database>,
  chat: Chat,
  options: Listing,
): Promise<SessionEntry[]> {
  const scope = scopeOf(options)
  const atMost = limitOf('limit', options.limit, -1)
  const lastActive = sql<number>`coalesce(
    (select max(messages.timestamp) from messages where messages.session_id = sessions.id),
    sessions.started_at)`
  return db
    .selectFrom('sessions')
    .select(['id', 'source', 'title', 'started_at as startedAt', 'ended_at as endedAt'])
    .select((eb) => [
      lastActive.as('lastActive'),
      eb.fn.coalesce('message_count', eb.lit(0)).as('messageCount'),
    ])
    .where(inScope(chat, scope))
    .where('message_count', '>', 0)
    .orderBy('lastActive', 'desc')
    .orderBy('id', 'desc')
    .limit(atMost)
    .execute()
}

/**
 * The session that is meant, among those in scope: the one of that id; else the latest begun of those
 * titled `<wanted> #…`; else the one of that title; else the only one whose id begins so (spec §8).
 */
export async function findSession(
  db: Kysely<Database>,
  chat: Chat,
  scope: Scope,
  wanted: string,
): Promise<string | undefined> {
  const numbered = `${wanted} #`
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'title'])
    .where(inScope(chat, scope))
    .where((eb) =>
      eb.or([
        eb('id', '=', wanted),
        eb('title', '=', wanted),
        eb(sql`substr(title, 1, length(${numbered}))`, '=', sql`${numbered} collate nocase`),
        eb(sql`substr(id, 1, length(${wanted}))`, '=', sql`${wanted} collate nocase`),
      ]),
    )
    .orderBy('started_at', 'desc')
    .execute()
  const chosen =
    rows.find(({ id }) => id === wanted) ??
    rows.find(({ title }) => title !== null && startsWith(title, numbered)) ??
    rows.find(({ title }) => title === wanted)
  if (chosen) return chosen.id
  return rows.length === 1 ? rows[0]?.id : undefined
}

function startsWith(text: string, beginning: string): boolean {
  return text.slice(0, beginning.length).toLowerCase() === beginning.toLowerCase()
}

import type { Kysely, Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import type { Chat } from './chat.ts'
import { homeChatId } from './chat-aliases.ts'
import type { SessionClocks } from './reset-policy.ts'
import type { RouteParts } from './session-key.ts'

/** Where a conversation stands. `session` is undefined when Hermes deleted the one it was in. */
export interface Route extends SessionClocks {
  readonly id: number
  readonly session:
    | { readonly id: string; readonly endedAt: number | null; readonly endReason: string | null }
    | undefined
}

const byParts = prepare<RouteParts>()((db, p) =>
  db
    .selectFrom('store_chat_routes')
    .leftJoin('sessions', 'sessions.id', 'store_chat_routes.session_id')
    .select([
      'store_chat_routes.id',
      'session_since',
      'last_interaction_at',
      'sessions.id as session_id',
      'ended_at',
      'end_reason',
    ])
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where('chat_type', '=', p.chatType)
    .where('chat_id', '=', homeChatId(p))
    .where('thread_id', '=', p.threadId)
    .where('store_chat_routes.user_id', '=', p.userId),
)

export async function findRoute(
  db: Kysely<Database>,
  parts: RouteParts,
): Promise<Route | undefined> {
  const row = await byParts.first(db, parts)
  if (!row) return undefined
  const { id, session_id: sessionId, ended_at: endedAt, end_reason: endReason } = row
  return {
    id,
    session: sessionId === null ? undefined : { id: sessionId, endedAt, endReason },
    sessionStartedAt: row.session_since,
    lastInteractionAt: row.last_interaction_at ?? row.session_since,
  }
}

/** A route to no session yet: `pointRoute` follows in the same transaction. */
export async function addRoute(trx: Transaction<Database>, chat: Chat): Promise<number> {
  const now = nowSeconds()
  const { parts } = chat
  const { id } = await trx
    .insertInto('store_chat_routes')
    .values({
      platform: parts.platform,
      account: parts.account,
      chat_type: parts.chatType,
      chat_id: homeChatId(parts),
      thread_id: parts.threadId,
      user_id: parts.userId,
      owner_id: chat.ownerId,
      session_key: chat.key,
      session_id: null,
      session_since: now,
      created_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const touch = prepare<{ routeId: number; now: number }>()((db, p) =>
  db
    .updateTable('store_chat_routes')
    .set({ last_interaction_at: p.now })
    .where('id', '=', p.routeId),
)

/** Something was said in the conversation just now. */
export async function touchRoute(trx: Transaction<Database>, routeId: number): Promise<void> {
  await touch.run(trx, { routeId, now: nowSeconds() })
}

/** From now on the conversation goes on in that session, which is its own from now on too. */
export async function pointRoute(
  trx: Transaction<Database>,
  routeId: number,
  sessionId: string,
  clocks: SessionClocks = { sessionStartedAt: nowSeconds(), lastInteractionAt: nowSeconds() },
): Promise<void> {
  await trx
    .updateTable('store_chat_routes')
    .set({
      session_id: sessionId,
      session_since: clocks.sessionStartedAt,
      last_interaction_at: clocks.lastInteractionAt,
    })
    .where('id', '=', routeId)
    .execute()
  await linkSessions(trx, routeId, [sessionId])
}

/** The people of the route may search and resume these sessions. */
export async function linkSessions(
  trx: Transaction<Database>,
  routeId: number,
  sessionIds: readonly string[],
): Promise<void> {
  const now = nowSeconds()
  for (const sessionId of sessionIds) {
    await trx
      .insertInto('store_route_sessions')
      .values({ route_id: routeId, session_id: sessionId, linked_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

/** Whether another conversation is in that session too. */
export async function isRoutedElsewhere(
  trx: Transaction<Database>,
  sessionId: string,
  routeId: number,
): Promise<boolean> {
  const other = await trx
    .selectFrom('store_chat_routes')
    .select('id')
    .where('session_id', '=', sessionId)
    .where('id', '!=', routeId)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

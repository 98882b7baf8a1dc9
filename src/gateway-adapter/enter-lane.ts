import { nowSeconds } from '../schema/clock.ts'
import type { Store, StoreTransaction } from '../store.ts'
import type { Chat } from './chat.ts'
import { beginSession, leaveSession, openLane, settleLane, type Lane } from './lane.ts'
import { isTaken, turnLease } from './leases.ts'
import { mustNotify } from './reset-options.ts'
import { evaluateReset, type ResetReason } from './reset-policy.ts'
import { findRoute, type Route } from './routes.ts'

/** The lane of a new message; nothing is written unless the chat gets a session. */
export async function resolveLane(store: Store, chat: Chat): Promise<Lane> {
  const route = await findRoute(store.db, chat.parts)
  const lane = openLane(chat, route)
  if (lane && !dueReset(chat, route)) return lane
  return store.transaction((tx) => enterLane(tx, chat))
}

/** The lane of a command: what it asks about is the session the chat is in, due or not. */
export async function currentLane(store: Store, chat: Chat): Promise<Lane> {
  const lane = openLane(chat, await findRoute(store.db, chat.parts))
  return lane ?? store.transaction((tx) => settleLane(tx, chat))
}

/**
 * The session a new message of the chat belongs to: the one it is in, unless that is due to be left,
 * nobody objects and no turn is under way in it.
 */
export async function enterLane(tx: StoreTransaction, chat: Chat): Promise<Lane> {
  const lane = await settleLane(tx, chat)
  const { policy, canReset } = chat.resets
  if (lane.fresh || policy.mode === 'none') return lane
  const reason = dueReset(chat, await findRoute(tx.db, chat.parts))
  if (!reason || !canReset(lane) || (await isAtWork(tx, lane))) return lane

  const { messageCount } = await tx.sessions.get(lane.sessionId)
  const hadActivity = (messageCount ?? 0) > 0
  const notify = mustNotify(policy, chat.parts.platform, hadActivity)
  await leaveSession(tx, lane, reason)
  const begun = await beginSession(tx, chat, lane.routeId)
  return { ...begun, reset: { reason, notify, hadActivity } }
}

function dueReset({ resets }: Chat, route: Route | undefined): ResetReason | undefined {
  return route && evaluateReset(resets.policy, route, nowSeconds())
}

function isAtWork({ db }: StoreTransaction, { sessionId }: Lane): Promise<boolean> {
  return isTaken(db, turnLease('', sessionId, 0).name)
}

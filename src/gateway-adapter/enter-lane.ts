import { nowSeconds } from '../schema/clock.ts'
import type { StoreTransaction } from '../store.ts'
import type { Chat } from './chat.ts'
import { beginSession, leaveSession, openLane, settleLane, type Lane } from './lane.ts'
import { mustNotify } from './reset-options.ts'
import { evaluateReset, type ResetReason } from './reset-policy.ts'
import { findRoute, type Route } from './routes.ts'

/** The lane of a new message when nothing has to be written for it. */
export function enterOpenLane(chat: Chat, route: Route | undefined): Lane | undefined {
  const lane = openLane(chat, route)
  return lane && dueReset(chat, lane, route) ? undefined : lane
}

/** The session a new message of the chat belongs to: the one it is in, unless that is due to be left. */
export async function enterLane(tx: StoreTransaction, chat: Chat): Promise<Lane> {
  const lane = await settleLane(tx, chat)
  if (lane.fresh || chat.resets.policy.mode === 'none') return lane
  const reason = dueReset(chat, lane, await findRoute(tx.db, chat.parts))
  if (!reason) return lane
  const { messageCount } = await tx.sessions.get(lane.sessionId)
  const hadActivity = (messageCount ?? 0) > 0
  const notify = mustNotify(chat.resets.policy, chat.parts.platform, hadActivity)
  await leaveSession(tx, lane, reason)
  const begun = await beginSession(tx, chat, lane.routeId)
  return { ...begun, reset: { reason, notify, hadActivity } }
}

function dueReset(chat: Chat, lane: Lane, route: Route | undefined): ResetReason | undefined {
  const { policy, canReset } = chat.resets
  if (!route) return undefined
  const reason = evaluateReset(policy, route, nowSeconds())
  return reason && canReset(lane) ? reason : undefined
}

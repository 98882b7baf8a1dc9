import type { StoreTransaction } from '../store.ts'
import type { Chat } from './chat.ts'
import type { ChatSource } from './chat-source.ts'
import type { LaneReset } from './reset-options.ts'
import type { ResetReason } from './reset-policy.ts'
import { extendTurn } from './leases.ts'
import { addRoute, findRoute, isRoutedElsewhere, linkSessions, pointRoute } from './routes.ts'
import type { Route } from './routes.ts'

/** A conversation and the session it is in at the moment. */
export interface Lane {
  /** Hermes' own key of the conversation; it is not unique, so use it for display and for queues only. */
  readonly key: string
  readonly sessionId: string
  /** The session was begun by this very call. */
  readonly fresh: boolean
  /** Several people write here: their texts are stored with `[name] ` in front. */
  readonly shared: boolean
  readonly source: ChatSource
  readonly routeId: number
  /** This very call left the session the chat was in, which was due. */
  readonly reset?: LaneReset
}

/** Ends by which somebody closed the conversation for good; any other end is an accident of a process. */
const CLOSED = new Set(['session_reset', 'new_session', 'idle', 'daily', 'suspended'])

/** The lane when nothing has to be written for it: the chat is known and its session is open. */
export function openLane(chat: Chat, route: Route | undefined): Lane | undefined {
  if (!route?.session || route.session.endedAt !== null) return undefined
  return toLane(chat, route.id, route.session.id)
}

/**
 * The session a message of the chat belongs to now. A chat without one, or whose session Hermes has
 * deleted, gets a new one; a compressed session is left for its continuation; one that was closed for
 * good is left for a new one; one that merely ended (a CLI that had it open quit) is opened again.
 */
export async function settleLane(tx: StoreTransaction, chat: Chat): Promise<Lane> {
  const route = await findRoute(tx.db, chat.parts)
  const open = openLane(chat, route)
  if (open) return open
  const routeId = route?.id ?? (await addRoute(tx.db, chat))
  if (!route?.session) return beginSession(tx, chat, routeId)

  const sessionId = await followCompression(tx, routeId, route.session)
  const { endedAt, endReason } = await tx.sessions.get(sessionId)
  if (endedAt !== null && CLOSED.has(endReason ?? '')) return beginSession(tx, chat, routeId)
  // Compressed, but its continuation is not there yet: opening it again would hide that one for ever.
  if (endedAt !== null && endReason !== 'compression') await tx.sessions.reopen(sessionId)
  return toLane(chat, routeId, sessionId)
}

/** Makes a session and routes the chat to it. */
export async function beginSession(
  tx: StoreTransaction,
  chat: Chat,
  routeId: number,
): Promise<Lane> {
  const sessionId = await tx.sessions.create({
    source: chat.parts.platform,
    userId: chat.personId === '' ? null : chat.personId,
  })
  await pointRoute(tx.db, routeId, sessionId)
  return { ...toLane(chat, routeId, sessionId), fresh: true }
}

/** Ends the session the lane is leaving, unless another chat is still in it. */
export async function leaveSession(
  tx: StoreTransaction,
  { sessionId, routeId }: Lane,
  reason: ResetReason | 'session_reset' | 'session_switch' | 'branched',
): Promise<void> {
  if (await isRoutedElsewhere(tx.db, sessionId, routeId)) return
  await tx.sessions.end(sessionId, reason)
}

export function toLane(chat: Chat, routeId: number, sessionId: string): Lane {
  const { key, shared, source } = chat
  return { key, sessionId, fresh: false, shared, source, routeId }
}

async function followCompression(
  tx: StoreTransaction,
  routeId: number,
  session: { id: string; endReason: string | null },
): Promise<string> {
  if (session.endReason !== 'compression') return session.id
  const tip = await tx.lineage.tip(session.id)
  if (tip === session.id) return tip
  await pointRoute(tx.db, routeId, tip)
  await extendTurn(tx.db, session.id, tip)
  const line = await tx.lineage.ancestors(tip)
  await linkSessions(tx.db, routeId, line.slice(line.indexOf(session.id)))
  return tip
}

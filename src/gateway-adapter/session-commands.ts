import { InvalidInputError, TitleConflictError, TitleTakenError } from '../errors.ts'
import { lookupText, requireText } from '../repositories/input.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { optionsOf } from './arguments.ts'
import type { Chat } from './chat.ts'
import { idText } from './chat-source.ts'
import { claimKey, takeCommand, type Verb } from './claims.ts'
import { currentLane } from './enter-lane.ts'
import { beginSession, leaveSession, settleLane, toLane, type Lane } from './lane.ts'
import { pointRoute } from './routes.ts'
import { scopeOf, type InScope } from './scope.ts'
import { findSession } from './session-lookup.ts'

/** The session a command led to. */
export interface Switched {
  readonly lane: Lane
  readonly title: string | null
  readonly messageCount: number
  /** The command message was carried out before; this time nothing was changed. */
  readonly duplicate: boolean
}

/** What the session that begins is called. */
export interface TitleOptions {
  /** Of the session that begins. */
  readonly title?: string | undefined
}

export function resetSession(
  store: Store,
  chat: Chat,
  options: TitleOptions | undefined,
): Promise<Switched> {
  const title = titleOf(options)
  return store.transaction(async (tx) => {
    const current = await settleLane(tx, chat)
    if (!(await takesCommand(tx, chat, 'reset'))) return switched(tx, current, true)
    await leaveSession(tx, current, 'session_reset')
    const lane = await beginSession(tx, chat, current.routeId)
    if (title !== undefined) await setTitle(tx, lane.sessionId, title)
    return switched(tx, lane, false)
  })
}

/** Sets the title first, if there is one. */
export async function sessionTitle(
  store: Store,
  chat: Chat,
  text: string | undefined,
): Promise<string | null> {
  if (text !== undefined) return renameSession(store, chat, lookupText('title', text))
  const { sessionId } = await currentLane(store, chat)
  return (await store.sessions.get(sessionId)).title
}

function renameSession(store: Store, chat: Chat, title: string): Promise<string | null> {
  return store.transaction(async (tx) => {
    const { sessionId } = await settleLane(tx, chat)
    if (await takesCommand(tx, chat, 'title')) await setTitle(tx, sessionId, title)
    return (await tx.sessions.get(sessionId)).title
  })
}

export function resumeSession(
  store: Store,
  chat: Chat,
  title: string,
  options: InScope,
): Promise<Switched | undefined> {
  const wanted = requireText('wanted', title)
  const scope = scopeOf(options)
  return store.transaction(async (tx) => {
    const found = await findSession(tx.db, chat, scope, wanted)
    if (found === undefined) return undefined
    const current = await settleLane(tx, chat)
    if (!(await takesCommand(tx, chat, 'resume'))) return switched(tx, current, true)
    const target = await tx.lineage.tip(found)
    if (target !== current.sessionId) {
      await leaveSession(tx, current, 'session_switch')
      await tx.sessions.reopen(target)
      await pointRoute(tx.db, current.routeId, target)
    }
    return switched(tx, toLane(chat, current.routeId, target), false)
  })
}

/** @throws {InvalidInputError} unless it is text, or absent. */
export function titleOf(options: TitleOptions | undefined): string | undefined {
  const { title } = optionsOf('options', options)
  return title === undefined ? undefined : lookupText('title', title)
}

/** False when the platform delivers the command once more. A source without a message id is always new. */
export async function takesCommand(
  { db }: StoreTransaction,
  chat: Chat,
  verb: Verb,
): Promise<boolean> {
  const id = idText('source.messageId', chat.source.messageId)
  return id === undefined || takeCommand(db, claimKey(chat, id), verb)
}

/** Who holds a title that is taken is nobody's business. */
export async function setTitle(
  tx: StoreTransaction,
  sessionId: string,
  title: string,
): Promise<void> {
  if (title.trim() === '') throw new InvalidInputError('title', 'must not be blank')
  try {
    await tx.titles.set(sessionId, title)
  } catch (error) {
    if (error instanceof TitleConflictError) throw new TitleTakenError(error.title)
    throw error
  }
}

export async function switched(
  tx: StoreTransaction,
  lane: Lane,
  duplicate: boolean,
): Promise<Switched> {
  const { title, messageCount } = await tx.sessions.get(lane.sessionId)
  return { lane, title, messageCount: messageCount ?? 0, duplicate }
}

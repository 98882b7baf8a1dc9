import { InvalidInputError, TitleConflictError, TitleTakenError } from '../errors.ts'
import type { ChatMessage } from '../repositories/conversation.ts'
import { limitOf, requireText } from '../repositories/input.ts'
import type { SearchHit } from '../repositories/search-repository.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { chatOf, type Chat } from './chat.ts'
import { idText, type ChatSourceInput } from './chat-source.ts'
import { claimKey, settleClaim, takeCommand } from './claims.ts'
import { readHistory, type HistoryOptions } from './history.ts'
import { beginSession, leaveSession, openLane, settleLane, toLane, type Lane } from './lane.ts'
import { listPending, type PendingOptions, type PendingTurn } from './pending.ts'
import { findRoute, pointRoute } from './routes.ts'
import { sessionIdsInScope, type Scope } from './scope.ts'
import { sessionKey, type SessionKeyOptions } from './session-key.ts'
import { findSession, listSessions, type SessionEntry } from './session-lookup.ts'
import { takeInbound, type Inbound, type InboundText } from './take-inbound.ts'
import { recordTurn, type RecordedTurn, type Turn } from './turn.ts'
import { readUsage, type SessionUsage } from './usage.ts'

/** Who shares a session; `gateways.md` §2.1 of Hermes' own gateway in the defaults. */
export type GatewayOptions = SessionKeyOptions

export interface Switched {
  readonly lane: Lane
  readonly title: string | null
  readonly messageCount: number
  /** The command message was carried out before; this time nothing was changed. */
  readonly duplicate: boolean
}

/**
 * The store as a chat gateway needs it: from a message's source to its session, and never to anybody
 * else's. A message costs two transactions, `inbound` and `turn`. Get it from `openGateway`.
 */
export class Gateway {
  readonly store: Store
  readonly #keys: SessionKeyOptions

  constructor(store: Store, keys: SessionKeyOptions) {
    this.store = store
    this.#keys = keys
  }

  /** Hermes' own key of the conversation: one queue a key keeps the messages of a chat in order. */
  keyOf(source: ChatSourceInput): string {
    return sessionKey(source, this.#keys)
  }

  /** The session the chat is in; it gets one if it has none that goes on. */
  async resolve(source: ChatSourceInput): Promise<Lane> {
    const chat = this.#chat(source)
    const open = openLane(chat, await findRoute(this.store.db, chat.parts))
    return open ?? this.store.transaction((tx) => settleLane(tx, chat))
  }

  /**
   * Stores a message that somebody wrote, once: the platform's message id is claimed in the same
   * transaction. Go on with the lane it returns.
   */
  inbound(at: Lane | ChatSourceInput, message: InboundText): Promise<Inbound> {
    const chat = this.#chat('source' in at ? at.source : at)
    return takeInbound(this.store, chat, message)
  }

  /** The chat messages to send to a model, oldest first. */
  history(lane: Lane, options: HistoryOptions): Promise<ChatMessage[]> {
    const limit = limitOf('limit', options.limit, -1)
    return readHistory(this.store.db, lane.sessionId, { ...options, limit })
  }

  /**
   * Stores an answer, what led to it and what it cost, or nothing of it.
   * @throws {SessionNotFoundError} when Hermes deleted the session meanwhile.
   */
  turn(lane: Lane, turn: Turn): Promise<RecordedTurn> {
    return recordTurn(this.store, lane, turn)
  }

  /** The message will get no answer: it is no longer pending, and stays in the history. */
  giveUp(messageId: number): Promise<void> {
    return this.store.transaction((tx) => settleClaim(tx.db, messageId, null))
  }

  /** What a crash left unanswered. Call it before taking messages, or those being answered are among them. */
  pendingTurns(options: PendingOptions): Promise<PendingTurn[]> {
    return listPending(this.store.db, options, this.#keys)
  }

  /**
   * Ends the session (`session_reset`) and begins a new one.
   * @throws {TitleTakenError} and the chat stays in the session it was in.
   */
  reset(source: ChatSourceInput, options: { title?: string | undefined } = {}): Promise<Switched> {
    const chat = this.#chat(source)
    return this.store.transaction(async (tx) => {
      const current = await settleLane(tx, chat)
      if (!(await takes(tx, chat, 'reset'))) return switched(tx, current, true)
      await leaveSession(tx, current, 'session_reset')
      const lane = await beginSession(tx, chat, current.routeId)
      if (options.title !== undefined) await setTitle(tx, lane.sessionId, options.title)
      return switched(tx, lane, false)
    })
  }

  /**
   * The title of the chat's session; with `text` it is set first.
   * @throws {TitleTakenError | InvalidInputError} and the title stays as it was.
   */
  async title(source: ChatSourceInput, text?: string): Promise<string | null> {
    if (text === undefined) {
      const { sessionId } = await this.resolve(source)
      return (await this.store.sessions.get(sessionId)).title
    }
    const chat = this.#chat(source)
    return this.store.transaction(async (tx) => {
      const { sessionId } = await settleLane(tx, chat)
      if (await takes(tx, chat, 'title')) await setTitle(tx, sessionId, text)
      return (await tx.sessions.get(sessionId)).title
    })
  }

  /**
   * Goes back to an earlier session, given by title, id or the beginning of its id; undefined when
   * there is none in scope, or several begin so. The one that is left ends (`session_switch`).
   */
  resume(
    source: ChatSourceInput,
    wanted: string,
    { scope }: { scope: Scope },
  ): Promise<Switched | undefined> {
    const chat = this.#chat(source)
    const text = requireText('wanted', wanted)
    return this.store.transaction(async (tx) => {
      const found = await findSession(tx.db, chat, scope, text)
      if (found === undefined) return undefined
      const current = await settleLane(tx, chat)
      if (!(await takes(tx, chat, 'resume'))) return switched(tx, current, true)
      const target = await tx.lineage.tip(found)
      if (target !== current.sessionId) {
        await leaveSession(tx, current, 'session_switch')
        await tx.sessions.reopen(target)
        await pointRoute(tx.db, current.routeId, target)
      }
      return switched(tx, toLane(chat, current.routeId, target), false)
    })
  }

  /** The sessions in scope, the last used first. */
  sessions(
    source: ChatSourceInput,
    { scope, limit }: { scope: Scope; limit: number },
  ): Promise<SessionEntry[]> {
    const atMost = limitOf('limit', limit, -1)
    return listSessions(this.store.db, this.#chat(source), scope, atMost)
  }

  /** Finds what was said in the sessions in scope (spec §13). */
  async search(
    source: ChatSourceInput,
    query: string,
    { scope, limit }: { scope: Scope; limit: number },
  ): Promise<SearchHit[]> {
    const sessionIds = await sessionIdsInScope(this.store.db, this.#chat(source), scope)
    return this.store.search.messages(query, { limit, ...(sessionIds && { sessionIds }) })
  }

  /** What the chat's session has used so far. */
  async usage(source: ChatSourceInput): Promise<SessionUsage> {
    const { sessionId } = await this.resolve(source)
    return readUsage(await this.store.sessions.get(sessionId))
  }

  #chat(source: ChatSourceInput): Chat {
    return chatOf(source, this.#keys)
  }
}

/** False when the platform delivers the command once more. A source without a message id is always new. */
async function takes(
  { db }: StoreTransaction,
  { source, parts }: Chat,
  verb: 'reset' | 'resume' | 'title',
): Promise<boolean> {
  const id = idText('source.messageId', source.messageId)
  return id === undefined || takeCommand(db, claimKey(parts, id), verb)
}

/** Who holds a title that is taken is nobody's business. */
async function setTitle(tx: StoreTransaction, sessionId: string, title: string): Promise<void> {
  if (title.trim() === '') throw new InvalidInputError('title', 'must not be blank')
  try {
    await tx.titles.set(sessionId, title)
  } catch (error) {
    if (error instanceof TitleConflictError) throw new TitleTakenError(error.title)
    throw error
  }
}

async function switched(tx: StoreTransaction, lane: Lane, duplicate: boolean): Promise<Switched> {
  const { title, messageCount } = await tx.sessions.get(lane.sessionId)
  return { lane, title, messageCount: messageCount ?? 0, duplicate }
}

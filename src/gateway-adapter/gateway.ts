import { randomUUID } from 'node:crypto'

import { InvalidInputError } from '../errors.ts'
import type { ChatMessage } from '../repositories/conversation.ts'
import type { ExportedSession } from '../repositories/export-repository.ts'
import { requireText } from '../repositories/input.ts'
import type { SearchHit } from '../repositories/search-hit.ts'
import type { Store } from '../store.ts'
import { Archive } from './archive.ts'
import { beginTurn, giveUpTurn, type Begin } from './begin-turn.ts'
import { branchSession } from './branch.ts'
import { chatOf, type Chat, type ChatOptions } from './chat.ts'
import type { ChatId, ChatSourceInput } from './chat-source.ts'
import { messageKey } from './claims.ts'
import { deleteMessages } from './deletes.ts'
import { currentLane, resolveLane } from './enter-lane.ts'
import { readHistory, type HistoryOptions } from './history.ts'
import type { Lane } from './lane.ts'
import { turnLease } from './leases.ts'
import { editMessage, type Edited } from './message-edits.ts'
import { Outbox } from './outbox.ts'
import { migrateChat, type ChatMigration } from './migrate-chat.ts'
import { listPending, type PendingOptions, type PendingTurn } from './pending.ts'
import type { PlatformChat } from './platform-messages.ts'
import { sessionIdsInScope, type Scope } from './scope.ts'
import { exportSessions } from './scoped-export.ts'
import { renameSession, resetSession, resumeSession, type Switched } from './session-commands.ts'
import { checkResets } from './reset-options.ts'
import { sessionKey } from './session-key.ts'
import { listSessions, type SessionEntry } from './session-lookup.ts'
import { takeInbound, type Inbound, type InboundText } from './take-inbound.ts'
import { recordTurn, type RecordedTurn, type Recorder, type Turn } from './turn.ts'
import { readDailyUsage, type DailyUsage } from './turn-usage.ts'
import { undoTurns, type Undone } from './undo.ts'
import { readUsage, type SessionUsage } from './usage.ts'
import { Waiting } from './waiting.ts'
import { whileHolding } from './while-holding.ts'

/** Who shares a session; `gateways.md` §2.1 of Hermes' own gateway in the defaults. */
export interface GatewayOptions extends ChatOptions {
  /**
   * After how long without a sign of life a process that works on a turn counts as dead, and another may
   * take the turn over. Default 10.
   */
  readonly leaseSeconds?: number
}

/**
 * The store as a chat gateway needs it: from a message's source to its session, and never to anybody
 * else's. A message costs two transactions, `inbound` and `turn`, and one more when a reply has been
 * sent. Get it from `openGateway`.
 */
export class Gateway {
  readonly store: Store
  readonly outbox: Outbox
  readonly archive: Archive
  readonly #keys: ChatOptions
  readonly #recorder: Recorder

  constructor(store: Store, { leaseSeconds = 10, ...keys }: GatewayOptions) {
    if (!(leaseSeconds > 0 && leaseSeconds < Infinity)) {
      throw new InvalidInputError('leaseSeconds', 'must be a number above 0')
    }
    this.store = store
    checkResets(keys.resets)
    this.#keys = keys
    const gatewayId = randomUUID()
    this.#recorder = { gatewayId, leaseSeconds, waiting: new Waiting(leaseSeconds) }
    this.outbox = new Outbox(store, gatewayId, leaseSeconds)
    this.archive = new Archive(store, (source) => this.#chat(source))
  }

  /** Hermes' own key of the conversation: one queue a key keeps the messages of a chat in order. */
  keyOf(source: ChatSourceInput): string {
    return sessionKey(source, this.#keys)
  }

  /** The session for a new message of the chat. `reset` in it: the chat has just left one that was due. */
  resolve(source: ChatSourceInput): Promise<Lane> {
    return resolveLane(this.store, this.#chat(source))
  }

  /**
   * Stores a message that somebody wrote, once: the platform's message id is claimed in the same
   * transaction. Go on with the lane it returns, unless the message is `settled` or `queued`.
   */
  async inbound(at: Lane | ChatSourceInput, message: InboundText): Promise<Inbound> {
    const chat = this.#chat('source' in at ? at.source : at)
    return takeInbound(this.store, chat, message, this.#recorder)
  }

  /** Whether a message that was queued, or left over by a crash, may be answered now: oldest first. */
  begin(lane: Lane, messageId: number): Promise<Begin> {
    return beginTurn(this.store, lane, messageId, this.#recorder)
  }

  /**
   * Does the work of a turn that has begun, for as long as it takes, and lets the next one begin at its
   * end. The signal aborts when this process stood still for so long that another took the turn over.
   * @throws {LeaseLostError} when the turn has not begun, or has been taken over already.
   */
  working<T>(lane: Lane, messageId: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { gatewayId, leaseSeconds } = this.#recorder
    const lease = turnLease(gatewayId, lane.sessionId, messageId)
    return whileHolding(this.store, lease, leaseSeconds, work)
  }

  /** The chat messages to send to a model, oldest first. */
  history(lane: Lane, options: HistoryOptions = {}): Promise<ChatMessage[]> {
    return readHistory(this.store.db, lane.sessionId, options)
  }

  /**
   * Stores an answer, what led to it and what it cost, and what is to be sent of it, or nothing.
   * @throws {SessionNotFoundError} when Hermes deleted the session meanwhile.
   */
  async turn(lane: Lane, turn: Turn): Promise<RecordedTurn> {
    return recordTurn(this.store, lane, this.#chat(lane.source), turn, this.#recorder)
  }

  /** The message will get no answer: it is no longer pending, and stays in the history. */
  giveUp(messageId: number): Promise<void> {
    return giveUpTurn(this.store, messageId, this.#recorder)
  }

  /** What a crash left unanswered, oldest first, and what is being answered now: `begin` tells. */
  pendingTurns(options: PendingOptions): Promise<PendingTurn[]> {
    return listPending(this.store.db, options, this.#keys)
  }

  /**
   * The author has changed a message: its text is replaced, the old one kept in the archive. Undefined
   * when it is in no session. `at` puts edits in order that arrive out of it.
   */
  async edited(
    source: ChatSourceInput,
    messageId: ChatId,
    text: string,
    { at }: { at?: number | Date | undefined } = {},
  ): Promise<Edited | undefined> {
    const chat = this.#chat(source)
    const key = messageKey(chat, 'messageId', messageId)
    return editMessage(this.store, chat, key, text, at)
  }

  /**
   * Messages were deleted from the chat: they leave the history and the search, and with them any wait
   * for an answer. Returns the ids of those that were there; others are passed over.
   */
  async deleted(chat: PlatformChat, platformMessageIds: readonly ChatId[]): Promise<number[]> {
    return deleteMessages(this.store, chat, platformMessageIds)
  }

  /**
   * Ends the session (`session_reset`) and begins a new one.
   * @throws {TitleTakenError} and the chat stays in the session it was in.
   */
  async reset(
    source: ChatSourceInput,
    options: { title?: string | undefined } = {},
  ): Promise<Switched> {
    return resetSession(this.store, this.#chat(source), options.title)
  }

  /**
   * The title of the chat's session; with `text` it is set first.
   * @throws {TitleTakenError | InvalidInputError} and the title stays as it was.
   */
  async title(source: ChatSourceInput, text?: string): Promise<string | null> {
    if (text !== undefined) return renameSession(this.store, this.#chat(source), text)
    const { sessionId } = await currentLane(this.store, this.#chat(source))
    return (await this.store.sessions.get(sessionId)).title
  }

  /**
   * Goes back to an earlier session, given by title, id or the beginning of its id; undefined when
   * there is none in scope, or several begin so. The one that is left ends (`session_switch`).
   */
  async resume(
    source: ChatSourceInput,
    wanted: string,
    { scope }: { scope: Scope },
  ): Promise<Switched | undefined> {
    return resumeSession(this.store, this.#chat(source), scope, requireText('wanted', wanted))
  }

  /**
   * Goes on in a copy of the session, which ends (`branched`) and can be resumed; undefined when nothing
   * was said yet. Without a title it gets the session's own, numbered.
   * @throws {TitleTakenError} and the chat stays in the session it was in.
   */
  async branch(
    source: ChatSourceInput,
    options: { title?: string | undefined } = {},
  ): Promise<Switched | undefined> {
    return branchSession(this.store, this.#chat(source), options.title)
  }

  /** Takes the last `n` questions and all that followed out of the session, into the archive. */
  async undo(source: ChatSourceInput, n = 1): Promise<Undone> {
    return undoTurns(this.store, this.#chat(source), n)
  }

  /** Both ids lead to the same conversations from now on, threads and members' own sessions included. */
  migrateChat(migration: ChatMigration): Promise<void> {
    return migrateChat(this.store, migration)
  }

  /** The sessions in scope, the last used first. */
  async sessions(
    source: ChatSourceInput,
    { scope, limit }: { scope: Scope; limit: number },
  ): Promise<SessionEntry[]> {
    return listSessions(this.store.db, this.#chat(source), scope, limit)
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

  /** The sessions in scope with all their messages, one at a time. */
  exports(
    source: ChatSourceInput,
    { scope }: { scope: Scope },
  ): AsyncIterableIterator<ExportedSession> {
    return exportSessions(this.store, this.#chat(source), scope)
  }

  /** What the chat's session has used so far. */
  async usage(source: ChatSourceInput): Promise<SessionUsage> {
    const { sessionId } = await currentLane(this.store, this.#chat(source))
    return readUsage(await this.store.sessions.get(sessionId))
  }

  /** What the conversation, or whoever is asking, has used in all sessions. */
  usageByDay(source: ChatSourceInput, { scope }: { scope: Scope }): Promise<DailyUsage[]> {
    return readDailyUsage(this.store.db, this.#chat(source), scope)
  }

  #chat(source: ChatSourceInput): Chat {
    return chatOf(source, this.#keys)
  }
}

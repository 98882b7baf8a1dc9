import type { ChatMessage } from '../repositories/conversation.ts'
import type { ExportedSession } from '../repositories/export-repository.ts'
import type { SearchHit } from '../repositories/search-hit.ts'
import type { Store } from '../store.ts'
import { Answering, type AnswerOptions, type Outcome, type TakenMessage } from './answer.ts'
import { Archive } from './archive.ts'
import { callableOf, laneOf, rowIdOf } from './arguments.ts'
import { beginTurn, giveUpTurn, type Begin } from './begin-turn.ts'
import { branchSession } from './branch.ts'
import { catchUp, type CatchUpOptions, type CaughtUp } from './catch-up.ts'
import { chatOf, type Chat, type ChatOptions } from './chat.ts'
import type { ChatId, ChatSourceInput } from './chat-source.ts'
import { deleteMessages } from './deletes.ts'
import { resolveLane } from './enter-lane.ts'
import { readGatewayOptions, type GatewayOptions } from './gateway-options.ts'
import { readHistory, type HistoryOptions } from './history.ts'
import type { InboundMessage } from './inbound.ts'
import type { Lane } from './lane.ts'
import { editMessage, type Edited, type EditOptions } from './message-edits.ts'
import { migrateChat, type ChatMigration } from './migrate-chat.ts'
import { Outbox } from './outbox.ts'
import { listPending, type PendingOptions, type PendingTurn } from './pending.ts'
import type { PlatformChat } from './platform-messages.ts'
import type { InScope, Listing } from './scope.ts'
import { exportSessions } from './scoped-export.ts'
import { searchSessions } from './scoped-search.ts'
import { resetSession, resumeSession, sessionTitle } from './session-commands.ts'
import type { Switched, TitleOptions } from './session-commands.ts'
import { sessionKey } from './session-key.ts'
import { listSessions, type SessionEntry } from './session-lookup.ts'
import { inboundOf, takeInbound, type Inbound, type InboundText } from './take-inbound.ts'
import { recordTurn, type RecordedTurn, type Recorder, type Turn } from './turn.ts'
import { readDailyUsage, type DailyUsage } from './turn-usage.ts'
import { undoTurns, type Undone } from './undo.ts'
import { readUsage, type SessionUsage } from './usage.ts'
import { workOnTurn, type Work } from './while-holding.ts'

/**
 * The store as a chat gateway needs it: from a message's source to its session, and never to anybody
 * else's. A message costs two transactions, `inbound` and `turn`, and one more when a reply has been
 * sent. Get it from `openGateway`. Every method rejects with `InvalidInputError` for an argument that
 * cannot be, with nothing changed.
 */
export class Gateway {
  readonly store: Store
  readonly outbox: Outbox
  readonly archive: Archive
  readonly #keys: ChatOptions
  readonly #recorder: Recorder
  readonly #answering: Answering

  constructor(store: Store, options: GatewayOptions) {
    const { keys, recorder } = readGatewayOptions(options)
    this.store = store
    this.#keys = keys
    this.#recorder = recorder
    const chatAt = (source: ChatSourceInput) => this.#chat(source)
    this.outbox = new Outbox(store, recorder.gatewayId, recorder.leaseSeconds)
    this.archive = new Archive(store, chatAt)
    this.#answering = new Answering(store, chatAt, this.outbox, recorder)
  }

  /** Hermes' own key of the conversation: one queue a key keeps the messages of a chat in order. */
  keyOf(source: ChatSourceInput): string {
    return sessionKey(source, this.#keys)
  }

  /** The session for a new message of the chat. `reset` in it: the chat has just left one that was due. */
  async resolve(source: ChatSourceInput): Promise<Lane> {
    return resolveLane(this.store, this.#chat(source))
  }

  /**
   * Stores a message that somebody wrote, once: the platform's message id is claimed in the same
   * transaction. A translator's message needs no second argument. Then `answer` what it returns; or go on
   * with its lane, unless the message is `settled` or `queued`.
   */
  async inbound(at: InboundMessage): Promise<Inbound>
  async inbound(at: Lane | ChatSourceInput, message: InboundText): Promise<Inbound>
  async inbound(
    at: Lane | ChatSourceInput | InboundMessage,
    message?: InboundText,
  ): Promise<Inbound> {
    const { source, text } = inboundOf(at, message)
    return takeInbound(this.store, this.#chat(source), text, this.#recorder)
  }

  /**
   * Does everything that a taken message still needs: waits for its turn, asks the model under the lease,
   * stores the answer, sends it. Called again for a message that is being answered here, it joins in.
   * Rejects with what `ask` throws, the message being pending then, or with what `send` throws, its reply
   * being among the undelivered.
   * @throws {SessionNotFoundError} when Hermes deleted the session meanwhile.
   */
  async answer(taken: TakenMessage, options: AnswerOptions): Promise<Outcome> {
    return this.#answering.answer(taken, options)
  }

  /**
   * Answers what an earlier run left unanswered and sends what it left unsent; also what another process
   * is at, should that die meanwhile. Resolves when it is done; call it at the start, and now and then.
   * @throws {AggregateError} of what failed; everything else is done.
   */
  async catchUp(options: CatchUpOptions): Promise<CaughtUp> {
    return catchUp(this.store, this.#answering, this.outbox, options, this.#keys)
  }

  /** Resolves when no `answer` is under way here: the store may be closed. */
  async idle(): Promise<void> {
    await this.#answering.idle()
  }

  /** Whether a message that was queued, or left over by a crash, may be answered now: oldest first. */
  async begin(lane: Lane, messageId: number): Promise<Begin> {
    return beginTurn(this.store, laneOf(lane), rowIdOf('messageId', messageId), this.#recorder)
  }

  /**
   * Does the work of a turn that has begun, for as long as it takes, and lets the next one begin at its
   * end. The signal aborts when this process stood still for so long that another took the turn over.
   * @throws {LeaseLostError} when the turn has not begun, or has been taken over already.
   */
  async working<T>(lane: Lane, messageId: number, work: Work<T>): Promise<T> {
    const turn = { lane: laneOf(lane), messageId: rowIdOf('messageId', messageId) }
    return workOnTurn(this.store, turn, callableOf('work', work), this.#recorder)
  }

  /** The chat messages to send to a model, oldest first. */
  async history(lane: Lane, options?: HistoryOptions): Promise<ChatMessage[]> {
    return readHistory(this.store.db, laneOf(lane).sessionId, options)
  }

  /**
   * Stores an answer, what led to it and what it cost, and what is to be sent of it, or nothing.
   * @throws {SessionNotFoundError} when Hermes deleted the session meanwhile.
   */
  async turn(lane: Lane, turn: Turn): Promise<RecordedTurn> {
    return recordTurn(this.store, laneOf(lane), this.#chat(lane.source), turn, this.#recorder)
  }

  /** The message will get no answer: it is no longer pending, and stays in the history. */
  async giveUp(messageId: number): Promise<void> {
    await giveUpTurn(this.store, rowIdOf('messageId', messageId), this.#recorder)
  }

  /** What a crash left unanswered, oldest first, and what is being answered now: `begin` tells. */
  async pendingTurns(options: PendingOptions): Promise<PendingTurn[]> {
    return listPending(this.store.db, options, this.#keys)
  }

  /**
   * The author has changed a message: its text is replaced, the old one kept in the archive. Undefined
   * when it is in no session, or somebody else's. `at` puts edits in order that arrive out of it.
   */
  async edited(
    source: ChatSourceInput,
    messageId: ChatId,
    text: string,
    options?: EditOptions,
  ): Promise<Edited | undefined> {
    return editMessage(this.store, this.#chat(source), messageId, text, options)
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
  async reset(source: ChatSourceInput, options?: TitleOptions): Promise<Switched> {
    return resetSession(this.store, this.#chat(source), options)
  }

  /**
   * The title of the chat's session; with `text` it is set first.
   * @throws {TitleTakenError | InvalidInputError} and the title stays as it was.
   */
  async title(source: ChatSourceInput, text?: string): Promise<string | null> {
    return sessionTitle(this.store, this.#chat(source), text)
  }

  /**
   * Goes back to an earlier session, given by title, id or the beginning of its id; undefined when
   * there is none in scope, or several begin so. The one that is left ends (`session_switch`).
   */
  async resume(
    source: ChatSourceInput,
    wanted: string,
    options: InScope,
  ): Promise<Switched | undefined> {
    return resumeSession(this.store, this.#chat(source), wanted, options)
  }

  /**
   * Goes on in a copy of the session, which ends (`branched`) and can be resumed; undefined when nothing
   * was said yet. Without a title it gets the session's own, numbered.
   * @throws {TitleTakenError} and the chat stays in the session it was in.
   */
  async branch(source: ChatSourceInput, options?: TitleOptions): Promise<Switched | undefined> {
    return branchSession(this.store, this.#chat(source), options)
  }

  /** Takes the last `n` questions and all that followed out of the session, into the archive. */
  async undo(source: ChatSourceInput, n = 1): Promise<Undone> {
    return undoTurns(this.store, this.#chat(source), n)
  }

  /** Both ids lead to the same conversations from now on, threads and members' own sessions included. */
  async migrateChat(migration: ChatMigration): Promise<void> {
    await migrateChat(this.store, migration)
  }

  /** The sessions in scope, the last used first. */
  async sessions(source: ChatSourceInput, options: Listing): Promise<SessionEntry[]> {
    return listSessions(this.store.db, this.#chat(source), options)
  }

  /** Finds what was said in the sessions in scope (spec §13). */
  async search(source: ChatSourceInput, query: string, options: Listing): Promise<SearchHit[]> {
    return searchSessions(this.store, this.#chat(source), query, options)
  }

  /** The sessions in scope with all their messages, one at a time. */
  async *exports(source: ChatSourceInput, options: InScope): AsyncGenerator<ExportedSession, void> {
    yield* exportSessions(this.store, this.#chat(source), options)
  }

  /** What the chat's session has used so far. */
  async usage(source: ChatSourceInput): Promise<SessionUsage> {
    return readUsage(this.store, this.#chat(source))
  }

  /** What the conversation, or whoever is asking, has used in all sessions. */
  async usageByDay(source: ChatSourceInput, options: InScope): Promise<DailyUsage[]> {
    return readDailyUsage(this.store.db, this.#chat(source), options)
  }

  #chat(source: ChatSourceInput): Chat {
    return chatOf(source, this.#keys)
  }
}

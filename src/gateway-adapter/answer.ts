import { LeaseLostError } from '../errors.ts'
import type { ChatMessage } from '../repositories/conversation.ts'
import { lookupText, requireObject } from '../repositories/input.ts'
import type { Usage } from '../repositories/session-usage.ts'
import type { Store } from '../store.ts'
import { callableOf, laneOf, optionsOf, rowIdOf } from './arguments.ts'
import { giveUpTurn } from './begin-turn.ts'
import type { Chat } from './chat.ts'
import type { ChatId } from './chat-source.ts'
import { readHistory, type HistoryOptions } from './history.ts'
import type { Lane } from './lane.ts'
import { isHolding, turnLease } from './leases.ts'
import type { Outbox, SendOptions } from './outbox.ts'
import type { Reply } from './outbox-rows.ts'
import { recordTurn, type Recorder, type TurnMessage } from './turn.ts'
import { waitForTurn } from './wait-for-turn.ts'
import { workOnTurn } from './while-holding.ts'

/** What a model had to say. */
export interface Answer {
  /** What is said in the chat. */
  readonly text: string
  /** What is stored: calls of tools, their results, and the answer as the last. By default the text alone. */
  readonly messages?: readonly TurnMessage[] | undefined
  readonly model?: string | null | undefined
  readonly usage?: Usage | undefined
}

/** How a message is answered. */
export interface AnswerOptions extends SendOptions {
  /**
   * Asks the model; the message to answer is the last of the history. Undefined when there will be no
   * answer: the message is given up then. The signal aborts when nobody needs it any more.
   */
  readonly ask: (
    history: ChatMessage[],
    signal: AbortSignal,
    taken: TakenMessage,
  ) => Promise<Answer | undefined>
  /** Says a reply in its chat, and tells how the platform calls it. Without it nothing is sent. */
  readonly send?: ((reply: Reply) => Promise<ChatId | readonly ChatId[]>) | undefined
  /** The texts as which the platform takes a text, each a message; by default one. */
  readonly split?: ((text: string) => readonly string[]) | undefined
  /** How much of the conversation `ask` gets; all of it by default. */
  readonly history?: Omit<HistoryOptions, 'answering'> | undefined
  /** Stops the waiting and the asking; the message stays pending. */
  readonly signal?: AbortSignal | undefined
}

/**
 * `answered`: the answer is stored, and sent. `settled`: there was nothing left to do. `given up`: `ask`
 * had no answer. `stopped`: `signal` aborted. `lost`: this process stood still for so long that another
 * one took the message over. After the last two the message is pending.
 */
export type Outcome = 'answered' | 'settled' | 'given up' | 'stopped' | 'lost'

/** What `inbound` returned, or one of `pendingTurns`. */
export interface TakenMessage {
  readonly lane: Lane
  readonly messageId: number
  readonly settled?: boolean
  readonly queued?: boolean
}

/** Answers messages, each once, in a session one after another. */
export class Answering {
  readonly #store: Store
  readonly #chatOf: (source: Lane['source']) => Chat
  readonly #outbox: Outbox
  readonly #recorder: Recorder
  /** By message: a redelivery must not ask the model again. */
  readonly #running = new Map<number, Promise<Outcome>>()
  /** By route: the next answer is not said before the one before it. */
  readonly #speaking = new Map<number, Promise<unknown>>()

  constructor(
    store: Store,
    chatOf: (source: Lane['source']) => Chat,
    outbox: Outbox,
    recorder: Recorder,
  ) {
    this.#store = store
    this.#chatOf = chatOf
    this.#outbox = outbox
    this.#recorder = recorder
  }

  async answer(taken: TakenMessage, options: AnswerOptions): Promise<Outcome> {
    checkTaken(taken)
    checkAnswerOptions(options)
    const running = this.#running.get(taken.messageId)
    if (running) return running
    const answer = this.#answer(taken, options).finally(() => {
      this.#running.delete(taken.messageId)
    })
    this.#running.set(taken.messageId, answer)
    return answer
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values())
  }

  async #answer(taken: TakenMessage, options: AnswerOptions): Promise<Outcome> {
    const { lane, messageId } = taken
    const { signal } = options
    if (taken.settled) return 'settled'
    const lease = turnLease(this.#recorder.gatewayId, lane.sessionId, messageId)
    if (taken.queued !== false || !(await isHolding(this.#store.db, lease))) {
      const state = await waitForTurn(this.#store, lane, messageId, this.#recorder, signal)
      if (state !== 'begun') return state
    }
    const work = (lost: AbortSignal) =>
      this.#inOrder(lane.routeId, () => this.#turn(taken, options, lost))
    return workOnTurn(this.#store, { lane, messageId }, work, this.#recorder)
  }

  async #turn(
    taken: TakenMessage,
    { ask, send, split = (text) => [text], history, isRefusal, signal: stop }: AnswerOptions,
    lost: AbortSignal,
  ): Promise<Outcome> {
    const { lane, messageId } = taken
    const signal = stop ? AbortSignal.any([stop, lost]) : lost
    let answer: Answer | undefined
    try {
      signal.throwIfAborted()
      const said = { ...history, answering: messageId }
      answer = await ask(await readHistory(this.#store.db, lane.sessionId, said), signal, taken)
    } catch (error) {
      if (stop?.aborted) return 'stopped'
      if (lost.reason instanceof LeaseLostError) return 'lost'
      throw error
    }
    if (answer === undefined) {
      await giveUpTurn(this.#store, messageId, this.#recorder)
      return 'given up'
    }
    requireObject('answer', answer)
    const { messages = [{ role: 'assistant', content: answer.text }], model, usage } = answer
    const text = lookupText('answer.text', answer.text)
    const replies = send && text !== '' ? split(text) : []
    const turn = { answers: messageId, messages, model, usage, replies }
    const chat = this.#chatOf(lane.source)
    const recorded = await recordTurn(this.#store, lane, chat, turn, this.#recorder)
    // Somebody else answered it, or it was deleted meanwhile.
    if (recorded.duplicate) return 'settled'
    if (send) await this.#outbox.send(recorded.replies, send, isRefusal ? { isRefusal } : {})
    return 'answered'
  }

  async #inOrder<T>(routeId: number, work: () => Promise<T>): Promise<T> {
    const before = this.#speaking.get(routeId)
    const { promise: turn, resolve: end } = Promise.withResolvers<void>()
    this.#speaking.set(routeId, turn)
    try {
      await before
      return await work()
    } finally {
      end()
      if (this.#speaking.get(routeId) === turn) this.#speaking.delete(routeId)
    }
  }
}

function checkTaken(taken: TakenMessage): void {
  laneOf(optionsOf('taken', taken).lane)
  rowIdOf('taken.messageId', taken.messageId)
}

/** @throws {InvalidInputError} */
export function checkAnswerOptions(options: AnswerOptions): void {
  const { ask, send, split, isRefusal } = optionsOf('options', options)
  callableOf('ask', ask)
  for (const [field, value] of Object.entries({ send, split, isRefusal })) {
    if (value !== undefined) callableOf(field, value)
  }
}

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import { readConversation, type ChatMessage, type ConversationOptions } from './conversation.ts'
import { limitOf, lookupText, requireObject } from './input.ts'
import { readMessages } from './message-pages.ts'
import {
  encodeMessage,
  encodeReplacement,
  type EncodedMessage,
  type Message,
  type NewMessage,
  type ReplacementMessage,
} from './message-row.ts'
import {
  readAnchored,
  readAround,
  type AnchoredOptions,
  type AnchoredView,
  type AroundOptions,
  type MessageWindow,
} from './message-views.ts'
import {
  addToCounters,
  areLong,
  deleteMessages,
  haveLong,
  insertionAtOnce,
  insertMessages,
  setCounters,
} from './message-writes.ts'

/** Which part of a session's messages; paged by id. */
export interface ListMessagesOptions {
  /** -1, the default, is all. */
  limit?: number
  /** Only messages with a greater id: the last one of the page before. */
  afterId?: number
}

const countAll = prepare<object>()((db) =>
  db.selectFrom('messages').select((eb) => eb.fn.countAll<number>().as('count')),
)
const countOf = prepare<{ sessionId: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('session_id', '=', p.sessionId),
)

/** The messages of sessions (spec §11, §12). */
export class MessageRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /**
   * Stores one message and returns its id, which is greater than every id before it.
   * @throws {SessionNotFoundError} when there is no such session, or the agent has pruned it.
   */
  async append(sessionId: string, message: NewMessage): Promise<number> {
    const id = lookupText('sessionId', sessionId)
    const [messageId] = await this.#append(id, [encodeMessage(message)])
    return messageId!
  }

  /**
   * Stores all of them in order, or none, and returns their ids. Some thousand a second: the agent
   * waits for the lock meanwhile, and gives up after 15 s.
   * @throws {SessionNotFoundError}
   */
  async appendMany(sessionId: string, messages: readonly NewMessage[]): Promise<number[]> {
    const id = lookupText('sessionId', sessionId)
    const encoded = requireList(messages).map((message, index) =>
      encodeMessage(message, `messages[${index}].`),
    )
    return encoded.length === 0 ? [] : this.#append(id, encoded)
  }

  /**
   * Puts these in the place of all the session's messages, or changes nothing. Their ids are new,
   * their times rise from now, and only an assistant's reasoning is kept (spec §11).
   * @throws {SessionNotFoundError} unless there is nothing to store.
   */
  async replaceAll(sessionId: string, messages: readonly ReplacementMessage[]): Promise<number[]> {
    const id = lookupText('sessionId', sessionId)
    const encoded = requireList(messages).map((message, index) =>
      encodeReplacement(message, `messages[${index}].`),
    )
    const isLong = areLong(encoded) || (await haveLong(this.#db, [id]))
    return this.#db.write(
      async (trx) => {
        await deleteMessages(trx, [id])
        const ids = await insertMessages(trx, id, encoded, nowSeconds())
        await setCounters(trx, id, encoded)
        return ids
      },
      { isLong },
    )
  }

  /** Deletes all messages of the session; there need not be one. */
  async clear(sessionId: string): Promise<void> {
    await this.replaceAll(sessionId, [])
  }

  #append(sessionId: string, messages: readonly EncodedMessage[]): Promise<number[]> {
    return this.#db.write(
      async (trx) => {
        const ids = await insertMessages(trx, sessionId, messages, nowSeconds())
        await addToCounters(trx, sessionId, messages)
        return ids
      },
      { atOnce: insertionAtOnce(sessionId, messages), isLong: areLong(messages) },
    )
  }

  /** By id; empty when there is no such session. */
  async list(sessionId: string, options: ListMessagesOptions = {}): Promise<Message[]> {
    requireObject('options', options)
    return readMessages(this.#db.read, {
      sessionId: lookupText('sessionId', sessionId),
      afterId: afterIdOf(options.afterId),
      limit: limitOf('limit', options.limit, -1),
    })
  }

  /** The message with up to `window` others on each side (spec §11). */
  async around(
    sessionId: string,
    messageId: number,
    options: AroundOptions = {},
  ): Promise<MessageWindow> {
    return readAround(this.#db.read, lookupText('sessionId', sessionId), messageId, options)
  }

  /** `around` for showing a search hit: only some roles, and how the session began and ended. */
  async anchored(
    sessionId: string,
    messageId: number,
    options: AnchoredOptions = {},
  ): Promise<AnchoredView> {
    return readAnchored(this.#db.read, lookupText('sessionId', sessionId), messageId, options)
  }

  /** The session as the chat messages a model is sent (spec §12). */
  async conversation(sessionId: string, options: ConversationOptions = {}): Promise<ChatMessage[]> {
    return readConversation(this.#db.read, lookupText('sessionId', sessionId), options)
  }

  /** How many messages are stored, in one session or, without an id, in all. */
  async count(sessionId?: string): Promise<number> {
    const found = sessionId
      ? await countOf.first(this.#db.read, { sessionId: lookupText('sessionId', sessionId) })
      : await countAll.first(this.#db.read, {})
    return found?.count ?? 0
  }
}

function afterIdOf(id: number | undefined): number {
  if (id === undefined) return Number.MIN_SAFE_INTEGER
  if (!Number.isSafeInteger(id)) throw new InvalidInputError('afterId', 'must be a whole number')
  return id
}

function requireList<T>(messages: readonly T[]): readonly T[] {
  if (!Array.isArray(messages)) throw new InvalidInputError('messages', 'must be an array')
  return messages
}

import type { Store } from '../store.ts'
import { laneOf, listOf, optionsOf, rowIdOf } from './arguments.ts'
import type { Chat } from './chat.ts'
import type { ChatId, ChatSourceInput } from './chat-source.ts'
import { messageKey } from './claims.ts'
import { listHidden, showMessages, type HiddenMessage } from './hidden-messages.ts'
import type { Lane } from './lane.ts'
import { listRevisions, type Revision } from './message-edits.ts'
import { forgetOlder, type Forgotten } from './retention.ts'

/** What is in no conversation any more: former texts, deleted and undone messages, old ids. */
export class Archive {
  readonly #store: Store
  readonly #chatOf: (source: ChatSourceInput) => Chat

  constructor(store: Store, toChat: (source: ChatSourceInput) => Chat) {
    this.#store = store
    this.#chatOf = toChat
  }

  /**
   * The texts a message has had, oldest first, the present one last; empty when the conversation of the
   * source has no such message.
   * @throws {InvalidInputError}
   */
  async revisions(source: ChatSourceInput, messageId: ChatId): Promise<Revision[]> {
    const chat = this.#chatOf(source)
    return listRevisions(this.#store.db, chat, messageKey(chat, 'messageId', messageId))
  }

  /** The messages of the lane's session that were deleted or undone, in the order they were said. */
  async hidden(lane: Lane): Promise<HiddenMessage[]> {
    return listHidden(this.#store.db, laneOf(lane).sessionId)
  }

  /** Puts hidden messages of the lane's session back in their places; returns those that were hidden. */
  async restore(lane: Lane, messageIds: readonly number[]): Promise<number[]> {
    const { sessionId } = laneOf(lane)
    listOf('messageIds', messageIds).forEach((id, index) => rowIdOf(`messageIds[${index}]`, id))
    return this.#store.transaction(({ db }) => showMessages(db, sessionId, messageIds))
  }

  /**
   * Forgets the platforms' ids of messages older than that, with who sent them and what is still unsent;
   * it must be longer than any platform may still deliver one again. Call it once a day. Messages, usage
   * and former texts stay.
   */
  async forget(options: { olderThanDays: number }): Promise<Forgotten> {
    return forgetOlder(this.#store, optionsOf('options', options).olderThanDays)
  }
}

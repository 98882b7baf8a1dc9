import { InvalidInputError } from '../errors.ts'
import type { Store } from '../store.ts'
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
  hidden({ sessionId }: Lane): Promise<HiddenMessage[]> {
    return listHidden(this.#store.db, sessionId)
  }

  /** Puts hidden messages of the lane's session back in their places; returns those that were hidden. */
  restore({ sessionId }: Lane, messageIds: readonly number[]): Promise<number[]> {
    if (!messageIds.every((id) => Number.isSafeInteger(id))) {
      throw new InvalidInputError('messageIds', 'must be whole numbers')
    }
    return this.#store.transaction(({ db }) => showMessages(db, sessionId, messageIds))
  }

  /**
   * Forgets the platforms' ids of messages older than that, with who sent them and what is still unsent;
   * it must be longer than any platform may still deliver one again. Call it once a day. Messages, usage
   * and former texts stay.
   */
  forget({ olderThanDays }: { olderThanDays: number }): Promise<Forgotten> {
    return forgetOlder(this.#store, olderThanDays)
  }
}

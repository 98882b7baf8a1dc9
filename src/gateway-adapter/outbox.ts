import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store, StoreTransaction } from '../store.ts'
import type { ChatId } from './chat-source.ts'
import { releaseLease, replyLease, takeLease } from './leases.ts'
import { addOutbound, idTexts, type OutboundChat } from './outbound.ts'
import {
  beginAttempt,
  finish,
  listUndelivered,
  nextPart,
  noteFailure,
  openReply,
  toSource,
  type OutboxOptions,
  type Reply,
} from './outbox-rows.ts'
import { assertHolding, whileHolding } from './while-holding.ts'

export interface SendOptions {
  /** Whether the error means that the platform took nothing. By default nothing is that certain. */
  readonly isRefusal?: (error: unknown) => boolean
}

/**
 * Replies between their turn, which stores them, and the platform's word that it has them. No crash loses
 * one. That none is sent twice only the platform can promise (Discord does, by nonce, for some minutes):
 * what a crash interrupted is listed as `maybeSent`, and the gateway decides.
 */
export class Outbox {
  readonly #store: Store
  readonly #gatewayId: string
  readonly #leaseSeconds: number

  constructor(store: Store, gatewayId: string, leaseSeconds: number) {
    this.#store = store
    this.#gatewayId = gatewayId
    this.#leaseSeconds = leaseSeconds
  }

  /**
   * Sends the replies of a turn one after another: `attempt` sends one and tells how the platform calls
   * it. Each is marked when it is delivered. When one fails this rejects with the attempt's error; that
   * one and those after it are then among the undelivered.
   * @throws {LeaseLostError} when it is called so late that another process has taken them up.
   */
  async send(
    replies: readonly Reply[],
    attempt: (reply: Reply) => Promise<ChatId | readonly ChatId[]>,
    { isRefusal = () => false }: SendOptions = {},
  ): Promise<void> {
    const [first] = replies
    if (!first) return
    const lease = replyLease(this.#gatewayId, first.turnId)
    await whileHolding(this.#store, lease, this.#leaseSeconds, async () => {
      for (const reply of replies) {
        await assertHolding(this.#store, lease)
        let ids: ChatId | readonly ChatId[]
        try {
          ids = await attempt(reply)
        } catch (error) {
          await this.failed(reply.id, error, { refused: isRefusal(error) })
          throw error
        }
        await this.delivered(reply.id, { platformMessageIds: isList(ids) ? ids : [ids] })
      }
    })
  }

  /**
   * The platform has the reply, under these ids. The next part of the same answer, if there is one,
   * counts as being sent from now on.
   */
  delivered(
    id: number,
    { platformMessageIds }: { platformMessageIds: readonly ChatId[] },
  ): Promise<void> {
    const ids = idTexts('platformMessageIds', platformMessageIds)
    return this.#onOpen(id, async ({ db }, { turnId, messageId, chat }) => {
      await addOutbound(db, chat, messageId, ids)
      await this.#finish({ db }, id, turnId)
    })
  }

  /** An attempt failed; with `refused` it is certain that nothing was sent. It can be taken up again. */
  failed(id: number, error: unknown, { refused }: { refused: boolean }): Promise<void> {
    return this.#onOpen(id, async ({ db }, { turnId }) => {
      await noteFailure.run(db, { id, error: textOf(error), refused: refused ? 1 : 0 })
      await releaseLease(db, replyLease(this.#gatewayId, turnId))
    })
  }

  /** Nobody will send it any more. */
  abandon(id: number): Promise<void> {
    return this.#onOpen(id, ({ db }, { turnId }) => this.#finish({ db }, id, turnId))
  }

  /** What a crash or a failure left, oldest first; not what this or another process is sending now. */
  undelivered(options: OutboxOptions): Promise<Reply[]> {
    return listUndelivered(this.#store.db, options)
  }

  /**
   * The right to send what was left; false when it has been done meanwhile, or somebody else is at it.
   * `send` is to follow at once.
   */
  takeUp(reply: Reply): Promise<boolean> {
    const lease = replyLease(this.#gatewayId, reply.turnId)
    return this.#store.transaction(async ({ db }) => {
      if (!(await openReply.first(db, { id: reply.id }))) return false
      if (!(await takeLease(db, lease, this.#leaseSeconds))) return false
      await beginAttempt.run(db, { id: reply.id })
      return true
    })
  }

  async #finish({ db }: Pick<StoreTransaction, 'db'>, id: number, turnId: number): Promise<void> {
    await finish.run(db, { id, now: nowSeconds() })
    const next = await nextPart.first(db, { turnId })
    if (next) await beginAttempt.run(db, next)
    else await releaseLease(db, replyLease(this.#gatewayId, turnId))
  }

  #onOpen(
    id: number,
    change: (tx: StoreTransaction, reply: OpenReply) => Promise<void>,
  ): Promise<void> {
    if (!Number.isSafeInteger(id)) throw new InvalidInputError('id', 'must be a whole number')
    return this.#store.transaction(async (tx) => {
      const row = await openReply.first(tx.db, { id })
      if (!row) return
      const { platform, account = '', chatId = '' } = toSource(row.source)
      const chat = { platform, account, chatId }
      await change(tx, { turnId: row.turn_id, messageId: row.message_id, chat })
    })
  }
}

interface OpenReply {
  readonly turnId: number
  readonly messageId: number
  readonly chat: OutboundChat
}

function isList(ids: ChatId | readonly ChatId[]): ids is readonly ChatId[] {
  return Array.isArray(ids)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

import { flagOf, requireObject } from '../repositories/input.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { callableOf, listOf, optionsOf, rowIdOf } from './arguments.ts'
import type { ChatId } from './chat-source.ts'
import { isHolding, releaseLease, replyLease, takeLease } from './leases.ts'
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

/** What the platform's errors mean. */
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
    options?: SendOptions,
  ): Promise<void> {
    const { isRefusal = () => false } = optionsOf('options', options)
    const [first] = listOf('replies', replies)
    if (!first) return
    callableOf('attempt', attempt)
    for (const [index, reply] of replies.entries()) checkReply(`replies[${index}]`, reply)
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
  async delivered(id: number, options: { platformMessageIds: readonly ChatId[] }): Promise<void> {
    const { platformMessageIds } = optionsOf('options', options)
    const ids = idTexts('platformMessageIds', platformMessageIds)
    return this.#onOpen(id, async ({ db }, { turnId, messageId, chat }) => {
      await addOutbound(db, chat, messageId, ids)
      await this.#finish({ db }, id, turnId)
    })
  }

  /** An attempt failed; with `refused` it is certain that nothing was sent. It can be taken up again. */
  async failed(id: number, error: unknown, options: { refused: boolean }): Promise<void> {
    const refused = flagOf('refused', optionsOf('options', options).refused, false)
    return this.#onOpen(id, async ({ db }, { turnId }) => {
      await noteFailure.run(db, { id, error: textOf(error), refused: refused ? 1 : 0 })
      await releaseLease(db, replyLease(this.#gatewayId, turnId))
    })
  }

  /** Nobody will send it any more. */
  async abandon(id: number): Promise<void> {
    return this.#onOpen(id, ({ db }, { turnId }) => this.#finish({ db }, id, turnId))
  }

  /** What a crash or a failure left, oldest first; not what this or another process is sending now. */
  async undelivered(options: OutboxOptions): Promise<Reply[]> {
    return listUndelivered(this.#store.db, options)
  }

  /**
   * The right to send what was left; false when it has been done meanwhile, or somebody else is at it.
   * `send` is to follow at once.
   */
  async takeUp(reply: Reply): Promise<boolean> {
    checkReply('reply', reply)
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
    const lease = replyLease(this.#gatewayId, turnId)
    const next = await nextPart.first(db, { turnId })
    if (!next) await releaseLease(db, lease)
    else if (await isHolding(db, lease)) await beginAttempt.run(db, next)
  }

  #onOpen(
    id: number,
    change: (tx: StoreTransaction, reply: OpenReply) => Promise<void>,
  ): Promise<void> {
    rowIdOf('id', id)
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

function checkReply(field: string, reply: Reply): void {
  requireObject(field, reply)
  rowIdOf(`${field}.id`, reply.id)
  rowIdOf(`${field}.turnId`, reply.turnId)
}

function isList(ids: ChatId | readonly ChatId[]): ids is readonly ChatId[] {
  return Array.isArray(ids)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

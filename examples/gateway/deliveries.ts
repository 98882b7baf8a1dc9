import { setTimeout as sleep } from 'node:timers/promises'

import type { Gateway, Reply } from '../../src/gateway-adapter/index.ts'
import type { Channel } from './channel.ts'
import { describe, log } from './log.ts'

/** How often what could not be sent is looked for. */
const LOOK_MS = 1000
/** Between two attempts at the same reply. */
const RETRY_SECONDS = 15
const MOST_ATTEMPTS = 4
const MAYBE_A_REPEAT = '(I was interrupted. You may have got this already.)'

/**
 * Sends what the turns have to say. A reply that a crash or a failure left behind is sent again: where
 * the platform cannot tell a repeat by itself, with a word of warning in front, so that no answer is lost
 * and none pretends to be a second one.
 */
export class Deliveries {
  readonly #gateway: Gateway
  readonly #stop: AbortSignal
  readonly #watching: Promise<void>[] = []

  constructor(gateway: Gateway, stop: AbortSignal) {
    this.#gateway = gateway
    this.#stop = stop
  }

  /** Never rejects: what fails stays in the outbox. */
  send(channel: Channel, replies: readonly Reply[]): Promise<void> {
    return this.#send(channel, replies, ({ source, text, nonce }) =>
      channel.send(source, text, nonce),
    )
  }

  /** From now on looks for what was left behind, until the program stops. */
  watch(channel: Channel): void {
    this.#watching.push(this.#watch(channel))
  }

  async ended(): Promise<void> {
    await Promise.all(this.#watching)
  }

  async #watch(channel: Channel): Promise<void> {
    const notBefore = new Map<number, number>()
    while (!this.#stop.aborted) {
      try {
        const left = await this.#gateway.outbox.undelivered(channel.bot)
        for (const [turnId, replies] of Map.groupBy(left, (reply) => reply.turnId)) {
          if (this.#stop.aborted) return
          if (Date.now() < (notBefore.get(turnId) ?? 0)) continue
          notBefore.set(turnId, Date.now() + RETRY_SECONDS * 1000)
          await this.#sendAgain(channel, replies)
        }
      } catch (error) {
        log(channel.bot.platform, 'could not look for what is not sent', error)
      }
      await sleep(LOOK_MS, undefined, { signal: this.#stop, ref: false }).catch(() => undefined)
    }
  }

  /** What is left of the replies of one turn. */
  async #sendAgain(channel: Channel, replies: readonly Reply[]): Promise<void> {
    const [first] = replies
    if (!first) return
    const { source, attempts, lastError } = first
    if (attempts >= MOST_ATTEMPTS) {
      log(source.platform, `gave up a reply to chat ${source.chatId} (${describe(lastError)})`)
      for (const { id } of replies) await this.#gateway.outbox.abandon(id)
      return
    }
    if (!(await this.#gateway.outbox.takeUp(first))) return
    await this.#send(channel, replies, (reply) => this.#warnAndSend(channel, reply))
  }

  async #warnAndSend(channel: Channel, reply: Reply): Promise<string> {
    const { source, text, nonce, createdAt, maybeSent } = reply
    const ageSeconds = Date.now() / 1000 - createdAt
    if (maybeSent && ageSeconds >= channel.nonceSeconds) {
      log(source.platform, `a reply to chat ${source.chatId} was possibly sent, and is sent again`)
      await channel.send(source, MAYBE_A_REPEAT)
    }
    return channel.send(source, text, nonce)
  }

  async #send(
    channel: Channel,
    replies: readonly Reply[],
    attempt: (reply: Reply) => Promise<string>,
  ): Promise<void> {
    const [first] = replies
    if (!first) return
    try {
      const isRefusal = (error: unknown) => channel.isRefusal(error)
      await this.#gateway.outbox.send(replies, attempt, { isRefusal })
    } catch (error) {
      log(first.source.platform, `could not send to chat ${first.source.chatId}`, error)
    }
  }
}

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
 * Sends what a crash or a failure left behind: where the platform cannot tell a repeat by itself, with a
 * word of warning in front, so that no answer is lost and none pretends to be a second one.
 */
export class Deliveries {
  readonly #gateway: Gateway
  readonly #stop: AbortSignal
  readonly #watching: Promise<void>[] = []

  constructor(gateway: Gateway, stop: AbortSignal) {
    this.#gateway = gateway
    this.#stop = stop
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
        await this.#gateway.catchUp({
          ...channel.bot,
          send: (reply) => warnAndSend(channel, reply),
          isRefusal: (error) => channel.isRefusal(error),
          again: (reply) => this.#again(reply, notBefore),
          signal: this.#stop,
        })
      } catch (error) {
        log(channel.bot.platform, 'not sent', error)
      }
      await sleep(LOOK_MS, undefined, { signal: this.#stop, ref: false }).catch(() => undefined)
    }
  }

  #again(
    { id, source, attempts, lastError }: Reply,
    notBefore: Map<number, number>,
  ): 'send' | 'wait' | 'abandon' {
    if (attempts >= MOST_ATTEMPTS) {
      log(source.platform, `gave up a reply to chat ${source.chatId} (${describe(lastError)})`)
      return 'abandon'
    }
    if (Date.now() < (notBefore.get(id) ?? 0)) return 'wait'
    notBefore.set(id, Date.now() + RETRY_SECONDS * 1000)
    return 'send'
  }
}

async function warnAndSend(channel: Channel, reply: Reply): Promise<string> {
  const { source, text, nonce, createdAt, maybeSent } = reply
  const ageSeconds = Date.now() / 1000 - createdAt
  if (maybeSent && ageSeconds >= channel.nonceSeconds) {
    log(source.platform, `a reply to chat ${source.chatId} was possibly sent, and is sent again`)
    await channel.send(source, MAYBE_A_REPEAT)
  }
  return channel.send(source, text, nonce)
}

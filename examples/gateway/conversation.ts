import { setTimeout as sleep } from 'node:timers/promises'

import {
  parseCommand,
  type ChatSource,
  type Gateway,
  type InboundMessage,
  type Lane,
  type Reply,
} from '../../src/gateway-adapter/index.ts'
import type { Channel } from './channel.ts'
import { runCommand } from './commands.ts'
import { Deliveries } from './deliveries.ts'
import { describe, log } from './log.ts'
import { Queues } from './queues.ts'
import type { Responder } from './responder.ts'

const HISTORY_MESSAGES = 60
const HISTORY_TOKENS = 30_000
const PENDING_SECONDS = 24 * 60 * 60
/** How often a message asks whether the turn of another process is over. */
const POLL_MS = 50

/**
 * The main job: what people write is stored, then answered. Messages of a chat are taken in the order
 * they came; one session has one turn at a time, different sessions are answered at the same time, in
 * however many processes.
 */
export class Conversations {
  readonly gateway: Gateway
  readonly #responder: Responder
  readonly #deliveries: Deliveries
  readonly #intake = new Queues()
  readonly #speaking = new Queues()
  /** By message: a redelivery must not ask the model again. */
  readonly #answers = new Map<number, Promise<void>>()
  readonly #stop = new AbortController()

  constructor(gateway: Gateway, responder: Responder) {
    this.gateway = gateway
    this.#responder = responder
    this.#deliveries = new Deliveries(gateway, this.#stop.signal)
  }

  /**
   * Resolves when the message is safe in the store (or the command carried out), so that the platform
   * may be told it was received; `answered` when it has its answer. Neither rejects.
   */
  take(
    message: InboundMessage,
    channel: Channel,
    botUserName?: string,
  ): Promise<{ answered: Promise<void> }> {
    const { source } = message
    return this.#inOrder(source, async () => {
      try {
        const command = parseCommand(message.text, { botUserName })
        if (command?.addressedElsewhere) return { answered: Promise.resolve() }
        if (command) {
          const text = await runCommand(this.gateway, source, command.name, command.argument)
          return { answered: trySay(channel, source, text) }
        }
        const { lane, messageId, settled, queued } = await this.gateway.inbound(source, {
          text: textWithMedia(message),
          id: message.messageId,
          at: message.at,
          replyTo: message.replyToMessageId,
          sender: message.senderName,
        })
        return {
          answered: settled
            ? Promise.resolve()
            : this.#answer(lane, messageId, channel, { begun: !queued }),
        }
      } catch (error) {
        log(source.platform, 'a message could not be taken', error)
        const text = `That did not reach my memory, please send it again: ${describe(error)}`
        return { answered: trySay(channel, source, text) }
      }
    })
  }

  /** The new text of a message counts from now on; its answer stays as it is. Never rejects. */
  edit(message: InboundMessage): Promise<void> {
    const { source, messageId, at } = message
    return this.#inOrder(source, async () => {
      try {
        await this.gateway.edited(source, messageId, textWithMedia(message), { at })
      } catch (error) {
        log(source.platform, `the edit of message ${messageId} is lost`, error)
      }
    })
  }

  /** What is deleted in the chat is no longer part of the conversation. Never rejects. */
  delete(chat: Channel['bot'] & { chatId: string }, messageIds: readonly string[]): Promise<void> {
    return this.#inOrder(chat, async () => {
      try {
        await this.gateway.deleted(chat, messageIds)
      } catch (error) {
        log(chat.platform, `the deletion of ${messageIds.length} messages is lost`, error)
      }
    })
  }

  /** Answers what an earlier run of this program left unanswered, and sends what it did not get to send. */
  async catchUp(channel: Channel): Promise<void> {
    const since = Date.now() / 1000 - PENDING_SECONDS
    const pending = await this.gateway.pendingTurns({ ...channel.bot, since })
    if (pending.length > 0) {
      log(channel.bot.platform, `${pending.length} messages are not answered yet`)
    }
    for (const { lane, messageId } of pending) {
      void this.#answer(lane, messageId, channel, { begun: false })
    }
    this.#deliveries.watch(channel)
  }

  /** Resolves when every message taken so far has its answer. */
  async idle(): Promise<void> {
    await this.#intake.idle()
    while (this.#answers.size > 0) await Promise.all(this.#answers.values())
  }

  /** Gives up the running model calls; their messages stay pending, for `catchUp` in the next run. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.idle()
    await this.#deliveries.ended()
  }

  /** By chat, for an edit or a deletion must not overtake its message. */
  #inOrder<T>(
    { platform, account, chatId }: Pick<ChatSource, 'platform' | 'account' | 'chatId'>,
    work: () => Promise<T>,
  ): Promise<T> {
    return this.#intake.run(JSON.stringify([platform, account, chatId]), work)
  }

  #answer(
    lane: Lane,
    messageId: number,
    channel: Channel,
    { begun }: { begun: boolean },
  ): Promise<void> {
    const running = this.#answers.get(messageId)
    if (running) return running
    const answer = this.#tryTurn(lane, messageId, channel, begun).finally(() => {
      this.#answers.delete(messageId)
    })
    this.#answers.set(messageId, answer)
    return answer
  }

  /** Never rejects. What is not answered when it resolves stays pending, or another process is at it. */
  async #tryTurn(lane: Lane, messageId: number, channel: Channel, begun: boolean): Promise<void> {
    try {
      if (!begun && !(await this.#begins(lane, messageId))) return
      await this.gateway.working(lane, messageId, (lost) =>
        // The next turn may begin when this one is stored, but not speak before it.
        this.#speaking.run(lane.key, async () => {
          const signal = AbortSignal.any([this.#stop.signal, lost])
          const replies = await this.#turnOrExcuse(lane, messageId, channel, signal)
          await this.#deliveries.send(channel, replies)
        }),
      )
    } catch (error) {
      if (this.#stop.signal.aborted) return
      log(lane.source.platform, `message ${messageId} is not answered here`, error)
    }
  }

  async #turnOrExcuse(
    lane: Lane,
    messageId: number,
    channel: Channel,
    signal: AbortSignal,
  ): Promise<readonly Reply[]> {
    try {
      return await this.#turn(lane, messageId, channel, signal)
    } catch (error) {
      if (signal.aborted) throw error
      log(lane.source.platform, `no answer in session ${lane.sessionId}`, error)
      const text = `I could not answer (${describe(error)}). Your message is kept.`
      await trySay(channel, lane.source, text)
      await this.gateway.giveUp(messageId)
      return []
    }
  }

  /** Waits while another message of the session is being answered, here or elsewhere; the oldest is next. */
  async #begins(lane: Lane, messageId: number): Promise<boolean> {
    while (!this.#stop.signal.aborted) {
      const state = await this.gateway.begin(lane, messageId)
      if (state !== 'queued') return state === 'begun'
      await sleep(POLL_MS)
    }
    return false
  }

  async #turn(
    lane: Lane,
    messageId: number,
    channel: Channel,
    signal: AbortSignal,
  ): Promise<readonly Reply[]> {
    signal.throwIfAborted()
    const history = await this.gateway.history(lane, {
      limit: HISTORY_MESSAGES,
      maxTokens: HISTORY_TOKENS,
      answering: messageId,
    })
    const answer = await this.#responder.answer(history, signal)
    // A duplicate has no replies: somebody else answered it, or the message was deleted meanwhile.
    const { replies } = await this.gateway.turn(lane, {
      answers: messageId,
      messages: [
        { role: 'assistant', content: answer.text, finishReason: answer.finishReason ?? null },
      ],
      model: answer.model,
      usage: answer.usage,
      replies: channel.split(answer.text),
    })
    return replies
  }
}

/** For what is no part of the conversation: it is not stored, and lost when it cannot be sent. */
async function trySay(channel: Channel, source: ChatSource, text: string): Promise<void> {
  try {
    for (const part of channel.split(text)) await channel.send(source, part)
  } catch (error) {
    log(source.platform, `could not send to chat ${source.chatId}`, error)
  }
}

/** The model can't see media, but it should know of them. */
function textWithMedia({ text, attachments }: InboundMessage): string {
  const notes = attachments.map(({ kind, name }) => (name ? `(${kind}: ${name})` : `(${kind})`))
  return [text, ...notes].filter((part) => part !== '').join('\n')
}

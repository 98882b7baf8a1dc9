import {
  parseCommand,
  type Answer,
  type AnswerOptions,
  type ChatSource,
  type Gateway,
  type InboundMessage,
  type Lane,
  type TakenMessage,
} from '../../src/gateway-adapter/index.ts'
import type { ChatMessage } from '../../src/index.ts'
import type { Channel } from './channel.ts'
import { runCommand } from './commands.ts'
import { Deliveries } from './deliveries.ts'
import { describe, log } from './log.ts'
import { Queues } from './queues.ts'
import type { Responder } from './responder.ts'

const HISTORY_MESSAGES = 60
const HISTORY_TOKENS = 30_000
const PENDING_SECONDS = 24 * 60 * 60

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
        const taken = await this.gateway.inbound(source, {
          text: textWithMedia(message),
          id: message.messageId,
          at: message.at,
          replyTo: message.replyToMessageId,
          sender: message.senderName,
        })
        return { answered: this.#answer(taken, channel) }
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
    for (const taken of pending) void this.#answer(taken, channel)
    this.#deliveries.watch(channel)
  }

  /** Resolves when every message taken so far has its answer. */
  async idle(): Promise<void> {
    await this.#intake.idle()
    await this.gateway.idle()
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

  /** Never rejects. What is not answered when it resolves stays pending, or another process is at it. */
  async #answer(taken: TakenMessage, channel: Channel): Promise<void> {
    try {
      const outcome = await this.gateway.answer(taken, this.#answering(channel))
      if (outcome === 'lost') {
        log(channel.bot.platform, `message ${taken.messageId} is answered by another process`)
      }
    } catch (error) {
      log(
        channel.bot.platform,
        `message ${taken.messageId} is not answered, or not sent yet`,
        error,
      )
    }
  }

  #answering(channel: Channel): AnswerOptions {
    return {
      ask: (history, signal, { lane }) => this.#ask(history, signal, lane, channel),
      send: ({ source, text, nonce }) => channel.send(source, text, nonce),
      split: (text) => channel.split(text),
      isRefusal: (error) => channel.isRefusal(error),
      history: { limit: HISTORY_MESSAGES, maxTokens: HISTORY_TOKENS },
      signal: this.#stop.signal,
    }
  }

  async #ask(
    history: readonly ChatMessage[],
    signal: AbortSignal,
    { source, sessionId }: Lane,
    channel: Channel,
  ): Promise<Answer | undefined> {
    try {
      const { finishReason = null, ...answer } = await this.#responder.answer(history, signal)
      return {
        ...answer,
        messages: [{ role: 'assistant', content: answer.text, finishReason }],
      }
    } catch (error) {
      if (signal.aborted) throw error
      log(source.platform, `no answer in session ${sessionId}`, error)
      const text = `I could not answer (${describe(error)}). Your message is kept.`
      await trySay(channel, source, text)
      return undefined
    }
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

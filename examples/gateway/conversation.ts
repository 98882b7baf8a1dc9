import {
  parseCommand,
  type ChatSource,
  type Gateway,
  type InboundMessage,
  type Lane,
  type PendingOptions,
} from '../../src/gateway-adapter/index.ts'
import { runCommand } from './commands.ts'
import { describe, log } from './log.ts'
import { Queues } from './queues.ts'
import type { Responder } from './responder.ts'

/** Says something in the chat a message came from. */
export type Say = (source: ChatSource, text: string) => Promise<void>

const HISTORY_MESSAGES = 60
const PENDING_SECONDS = 24 * 60 * 60

/**
 * The main job: what people write is stored, then answered. Messages of a chat are taken in the order
 * they came; one session has one turn at a time, different sessions are answered at the same time.
 */
export class Conversations {
  readonly gateway: Gateway
  readonly #responder: Responder
  readonly #intake = new Queues()
  readonly #turns = new Queues()
  /** By message: a redelivery must not ask the model again. */
  readonly #answers = new Map<number, Promise<void>>()
  readonly #stop = new AbortController()

  constructor(gateway: Gateway, responder: Responder) {
    this.gateway = gateway
    this.#responder = responder
  }

  /**
   * Resolves when the message is safe in the store (or the command carried out), so that the platform
   * may be told it was received; `answered` when it has its answer. Neither rejects.
   */
  take(
    message: InboundMessage,
    say: Say,
    botUserName?: string,
  ): Promise<{ answered: Promise<void> }> {
    const { source } = message
    return this.#intake.run(this.gateway.keyOf(source), async () => {
      try {
        const command = parseCommand(message.text, { botUserName })
        if (command?.addressedElsewhere) return { answered: Promise.resolve() }
        if (command) {
          const text = await runCommand(this.gateway, source, command.name, command.argument)
          return { answered: trySay(say, source, text) }
        }
        const { lane, messageId, settled } = await this.gateway.inbound(source, {
          text: textWithMedia(message),
          id: message.messageId,
          at: message.at,
          replyTo: message.replyToMessageId,
          sender: message.senderName,
        })
        return { answered: settled ? Promise.resolve() : this.#answer(lane, messageId, say) }
      } catch (error) {
        log(source.platform, 'a message could not be taken', error)
        const text = `That did not reach my memory, please send it again: ${describe(error)}`
        return { answered: trySay(say, source, text) }
      }
    })
  }

  /** Answers what an earlier run of this program left unanswered when it was killed. */
  async catchUp(chats: Omit<PendingOptions, 'since'>, say: Say): Promise<void> {
    const since = Date.now() / 1000 - PENDING_SECONDS
    const pending = await this.gateway.pendingTurns({ ...chats, since })
    if (pending.length === 0) return
    log(chats.platform, `${pending.length} messages were left unanswered by an earlier run`)
    for (const { lane, messageId } of pending) void this.#answer(lane, messageId, say)
  }

  /** Resolves when every message taken so far has its answer. */
  async idle(): Promise<void> {
    await this.#intake.idle()
    await this.#turns.idle()
  }

  /** Gives up the running model calls; their messages stay pending, for `catchUp` in the next run. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.idle()
  }

  #answer(lane: Lane, messageId: number, say: Say): Promise<void> {
    const running = this.#answers.get(messageId)
    if (running) return running
    const answer = this.#turns.run(lane.sessionId, async () => {
      if (!this.#stop.signal.aborted) await this.#tryTurn(lane, messageId, say)
      this.#answers.delete(messageId)
    })
    this.#answers.set(messageId, answer)
    return answer
  }

  async #tryTurn(lane: Lane, messageId: number, say: Say): Promise<void> {
    try {
      const text = await this.#turn(lane, messageId)
      if (text !== undefined) await trySay(say, lane.source, text)
    } catch (error) {
      if (this.#stop.signal.aborted) return
      log(lane.source.platform, `no answer in session ${lane.sessionId}`, error)
      const text = `I could not answer (${describe(error)}). Your message is kept.`
      await trySay(say, lane.source, text)
      await this.#giveUp(messageId)
    }
  }

  async #turn(lane: Lane, messageId: number): Promise<string | undefined> {
    const history = await this.gateway.history(lane, {
      limit: HISTORY_MESSAGES,
      answering: messageId,
    })
    const answer = await this.#responder.answer(history, this.#stop.signal)
    const { duplicate } = await this.gateway.turn(lane, {
      answers: messageId,
      messages: [
        { role: 'assistant', content: answer.text, finishReason: answer.finishReason ?? null },
      ],
      model: answer.model,
      usage: answer.usage,
    })
    // Somebody else answered it meanwhile; saying it twice would be worse than not at all.
    return duplicate ? undefined : answer.text
  }

  async #giveUp(messageId: number): Promise<void> {
    try {
      await this.gateway.giveUp(messageId)
    } catch (error) {
      log('store', `message ${messageId} stays pending`, error)
    }
  }
}

async function trySay(say: Say, source: ChatSource, text: string): Promise<void> {
  try {
    await say(source, text)
  } catch (error) {
    log(source.platform, `could not send to chat ${source.chatId}`, error)
  }
}

/** The model can't see media, but it should know of them. */
function textWithMedia({ text, attachments }: InboundMessage): string {
  const notes = attachments.map(({ kind, name }) => (name ? `(${kind}: ${name})` : `(${kind})`))
  return [text, ...notes].filter((part) => part !== '').join('\n')
}

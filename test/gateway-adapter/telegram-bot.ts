import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  telegramInbound,
  type ChatSource,
  type Gateway,
  type Lane,
} from '../../src/gateway-adapter/index.ts'

type Update = Parameters<typeof telegramInbound>[0]

/** What a bot library does for the bot, and the model. */
export interface BotParts {
  readonly gateway: Gateway
  readonly botId: number
  send(chatId: string, text: string, options: { message_thread_id?: number }): Promise<number>
  ask(question: string, lane: Lane): Promise<string>
}

/** What a bot does with an update, whatever library brought it. */
export async function takeUpdate(parts: BotParts, update: Update): Promise<void> {
  const { gateway, botId } = parts
  const inbound = telegramInbound(update, { botId })
  if (inbound.kind === 'migrated') {
    return gateway.migrateChat({ platform: 'telegram', account: botId, ...inbound })
  }
  if (inbound.kind === 'ignored') return
  const { source, messageId: id, text, at } = inbound
  if (inbound.kind === 'edited') {
    await gateway.edited(source, id, text, { at })
    return
  }
  const { lane, messageId, settled, queued } = await gateway.inbound(source, { id, text, at })
  if (settled || (queued && !(await hasBegun(gateway, lane, messageId)))) return
  await answer(parts, lane, messageId)
}

async function answer(parts: BotParts, lane: Lane, messageId: number): Promise<void> {
  const { gateway } = parts
  await gateway.working(lane, messageId, async () => {
    const history = await gateway.history(lane, { answering: messageId })
    const question = history.at(-1)?.content
    assert(typeof question === 'string')
    const text = await parts.ask(question, lane)
    const { replies } = await gateway.turn(lane, {
      answers: messageId,
      messages: [{ role: 'assistant', content: text }],
      replies: [text],
    })
    await gateway.outbox.send(replies, (reply) => send(parts, reply.source, reply.text))
  })
}

async function hasBegun(gateway: Gateway, lane: Lane, messageId: number): Promise<boolean> {
  for (;;) {
    const state = await gateway.begin(lane, messageId)
    if (state !== 'queued') return state === 'begun'
    await sleep(10)
  }
}

function send(parts: BotParts, { chatId, chatType, threadId }: ChatSource, text: string) {
  assert(chatId !== undefined)
  // The General topic is written to by not naming it.
  const isTopic = threadId !== undefined && !(chatType === 'group' && threadId === '1')
  return parts.send(chatId, text, isTopic ? { message_thread_id: Number(threadId) } : {})
}

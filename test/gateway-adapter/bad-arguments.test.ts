import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import * as adapter from '../../src/gateway-adapter/index.ts'
import { InvalidInputError, StoreError } from '../../src/index.ts'
import { ada, gatewayOn } from './chats.ts'

type Method = (...args: unknown[]) => unknown

/** What programs without types hand in, for whatever is asked. */
const JUNK: readonly unknown[] = [
  undefined,
  null,
  5,
  Number.NaN,
  'x',
  '',
  true,
  1n,
  Symbol('s'),
  [],
  {},
  () => 1,
  { scope: 5 },
  { scope: 'lane', limit: 'x' },
  { title: 5 },
  { at: 'x' },
  { since: 'x' },
  { platform: 5 },
  { platform: 'x' },
  { platform: 'x', chatType: 'dm', chatId: {} },
  { source: null },
  { sessionId: 'x' },
  { limit: 'x' },
  { countTokens: 5 },
  { answering: 'x' },
  { messages: null },
  { messages: [null] },
  { messages: [], usage: 5 },
  { messages: [], replies: null },
  { messages: [], answers: 'x' },
  { messages: [], model: 5 },
  { text: 'x', id: 1, at: 'x' },
  { text: 'x', id: {} },
  { text: 'x', id: 1, sender: 5 },
  { ask: 5 },
  { ask: () => 1, send: 5 },
  { refused: 5 },
  { platformMessageIds: 5 },
]

/** @throws when it fails otherwise than by naming what is wrong. */
async function call(name: string, method: Method, args: readonly unknown[]): Promise<void> {
  try {
    const result = await method(...args)
    if (isIterable(result)) await result[Symbol.asyncIterator]().next()
  } catch (error) {
    if (error instanceof StoreError) return
    throw new Error(`${name}(${args.map(shown).join(', ')})`, { cause: error })
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function shown(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : inspect(value)
}

test('whatever the methods of a gateway are given, what fails says which argument is wrong', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'hi', id: 1 })
  for (const owner of [gateway, gateway.outbox, gateway.archive]) {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(owner) as object)
    for (const name of methods.filter((each) => each !== 'constructor')) {
      const method = (owner as unknown as Record<string, Method>)[name]!.bind(owner)
      const attempt = (...args: unknown[]) => call(name, method, args)
      for (const junk of JUNK) {
        await attempt(junk, junk, junk)
        // Whoever asks nothing gets no answer: what is begun here would wait for its turn.
        if (name === 'answer' && shown(junk).startsWith('{"')) continue
        await attempt(ada, junk)
        await attempt(lane, junk)
        await attempt(ada, 'x', junk)
        await attempt(lane, messageId, junk)
      }
    }
  }

  assert.equal((await gateway.inbound(ada, { text: 'hi', id: 1 })).messageId, messageId)
})

test('bad arguments of a gateway are refused by name', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'hi', id: 1 })
  const refused: readonly [field: string, call: () => Promise<unknown>][] = [
    ['title', () => gateway.reset(ada, { title: 5 as never })],
    ['title', () => gateway.title(ada, 5 as never)],
    ['messages', () => gateway.turn(lane, { messages: null as never })],
    ['turn', () => gateway.turn(lane, null as never)],
    ['options', () => gateway.resume(ada, 'x', null as never)],
    ['scope', () => gateway.search(ada, 'x', {} as never)],
    ['scope', () => gateway.usageByDay(ada, { scope: 'mine' as never })],
    ['lane', () => gateway.history(null as never)],
    ['message', () => gateway.inbound(ada, undefined as never)],
    ['source', () => gateway.resolve(null as never)],
    ['ask', () => gateway.answer({ lane, messageId }, {} as never)],
    ['ids', () => gateway.deleted(ada, null as never)],
    ['replies', () => gateway.outbox.send(null as never, async () => 1)],
  ]

  for (const [field, attempt] of refused) {
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof InvalidInputError)
      assert.equal(error.field, field)
      return true
    })
  }
})

test('what is no update, message or command is ignored or refused, and never breaks a bot', async () => {
  const message = { message_id: 1, date: 1, chat: { id: 1, type: 'private' }, text: 'x' }
  const messages = [
    null,
    5,
    [],
    {},
    { chat: null },
    { ...message, chat: {} },
    { ...message, text: 5 },
    { ...message, from: 5 },
    { ...message, photo: 5 },
    { ...message, photo: [null] },
    { ...message, voice: 5 },
    { ...message, date: 'x' },
    { ...message, message_id: {} },
    { ...message, reply_to_message: 5 },
    { ...message, sender_chat: { id: 'x' } },
  ]
  for (const junk of [...JUNK, ...messages.map((each) => ({ update_id: 1, message: each }))]) {
    assert.equal(adapter.telegramInbound(junk as never).kind, 'ignored')
    assert.equal(adapter.telegramSource(junk as never), undefined)
    assert.equal(adapter.discordInbound(junk as never).kind, 'ignored')
  }
  const names = ['parseCommand', 'discordSource', 'discordInteractionSource', 'normalizeSource']
  const others = ['sessionKey', 'routeParts', 'toUIMessages', 'fromUIMessages', 'hermesV11']
  for (const name of [...names, ...others, 'estimateTokens']) {
    const method = (adapter as unknown as Record<string, Method>)[name]!
    for (const junk of JUNK) {
      await call(name, method, [junk])
      await call(name, method, ['/x@y', junk])
      await call(name, method, [ada, junk])
    }
  }
})

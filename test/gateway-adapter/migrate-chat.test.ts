import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { InvalidInputError, type Store } from '../../src/index.ts'
import {
  openGateway,
  telegramInbound,
  type ChatSourceInput,
  type Gateway,
} from '../../src/gateway-adapter/index.ts'
import { openTempStore } from '../support/temp-store.ts'

const telegram = { platform: 'telegram', account: '1' }
const old = { ...telegram, chatType: 'group', chatId: '-5', userId: '7' }
const young = { ...old, chatId: '-1005' }
const move = { ...telegram, fromChatId: '-5', toChatId: '-1005' }

async function gatewayOn(t: TestContext): Promise<{ store: Store; gateway: Gateway }> {
  const store = await openTempStore(t)
  return { store, gateway: await openGateway(store) }
}

let lastId = 0
function say(gateway: Gateway, source: ChatSourceInput, text = 'hello') {
  lastId += 1
  return gateway.inbound(source, { text, id: lastId })
}

test('after the move both ids lead to the session of the old chat', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const before = await say(gateway, old)

  await gateway.migrateChat(move)
  const after = await say(gateway, young)
  const late = await say(gateway, old)

  assert.deepEqual(
    [after.lane.sessionId, late.lane.sessionId],
    [before.lane.sessionId, before.lane.sessionId],
  )
  assert.equal(after.lane.source.chatId, '-1005')
  assert.equal(await store.sessions.count(), 1)
})

test('topics, shared sessions and those of other members move with it; another bot and another chat do not', async (t) => {
  const { gateway } = await gatewayOn(t)
  const moving = [
    { ...old, userId: '8' },
    { ...old, threadId: '42' },
  ]
  const staying = [
    { ...old, account: '2' },
    { ...old, chatId: '-6' },
  ]
  const before = await Promise.all([...moving, ...staying].map((source) => say(gateway, source)))

  await gateway.migrateChat(move)
  const after = await Promise.all(
    [...moving, ...staying].map((source) =>
      say(gateway, source.chatId === '-5' ? { ...source, chatId: '-1005' } : source),
    ),
  )

  const same = before.map(({ lane }, index) => lane.sessionId === after[index]?.lane.sessionId)
  assert.deepEqual(same, [true, true, false, true])
})

test('messages that have the same id in both chats are two messages', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  await gateway.inbound(old, { text: 'one', id: 1 })
  await gateway.migrateChat(move)

  const other = await gateway.inbound(young, { text: 'two', id: 1 })
  const again = await gateway.inbound(old, { text: 'one', id: 1 })

  assert.deepEqual([other.duplicate, again.duplicate], [false, true])
  assert.equal(await store.messages.count(), 2)
})

test('Telegram tells it in both chats, in any order, and again: it is one move', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const before = await say(gateway, old)
  const date = 1_700_000_000
  const updates = [
    {
      update_id: 1,
      message: {
        message_id: 90,
        date,
        chat: { id: -5, type: 'group' },
        migrate_to_chat_id: -1005,
      },
    },
    {
      update_id: 2,
      message: {
        message_id: 1,
        date,
        chat: { id: -1005, type: 'supergroup' },
        migrate_from_chat_id: -5,
      },
    },
  ]

  for (const update of [...updates.toReversed(), ...updates]) {
    const inbound = telegramInbound(update, { botId: 1 })
    assert(inbound.kind === 'migrated')
    await gateway.migrateChat({ ...telegram, ...inbound })
  }
  const after = await say(gateway, young)

  assert.equal(after.lane.sessionId, before.lane.sessionId)
  const aliases = await store.db.selectFrom('store_chat_aliases').select('chat_id').execute()
  assert.deepEqual(aliases, [{ chat_id: '-1005' }])
})

test('a chat that moves on leads back to its first session', async (t) => {
  const { gateway } = await gatewayOn(t)
  const before = await say(gateway, old)

  await gateway.migrateChat(move)
  await gateway.migrateChat({ ...move, fromChatId: '-1005', toChatId: '-2005' })
  const after = await say(gateway, { ...old, chatId: '-2005' })

  assert.equal(after.lane.sessionId, before.lane.sessionId)
})

test('what began under the new id before the move was known can be found and resumed, and nobody loses a session', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const before = await say(gateway, old)
  const early = await say(gateway, young, 'xyzzy')
  const newcomer = await say(gateway, { ...young, userId: '9' })

  await gateway.migrateChat(move)
  await gateway.turn(early.lane, {
    answers: early.messageId,
    messages: [{ role: 'assistant', content: 'late answer' }],
  })
  const after = await say(gateway, young)
  const found = await gateway.search(young, 'xyzzy', { scope: 'lane', limit: 5 })
  const stays = await say(gateway, { ...young, userId: '9' })

  assert.equal(after.lane.sessionId, before.lane.sessionId)
  assert.deepEqual(
    found.map(({ sessionId }) => sessionId),
    [early.lane.sessionId],
  )
  assert.equal((await store.sessions.get(early.lane.sessionId)).endReason, 'session_switch')
  assert.equal(await store.messages.count(early.lane.sessionId), 2)
  assert.equal(stays.lane.sessionId, newcomer.lane.sessionId)
  const back = await gateway.resume(young, early.lane.sessionId, { scope: 'lane' })
  assert.equal(back?.lane.sessionId, early.lane.sessionId)
})

test('what waited for an answer or to be sent goes to the chat under its new id', async (t) => {
  const { gateway } = await gatewayOn(t)
  const unanswered = await gateway.inbound(old, { text: 'one', id: 1 })
  await gateway.turn(unanswered.lane, {
    messages: [{ role: 'assistant', content: 'unsent' }],
    replies: ['unsent'],
  })
  const [sending] = await gateway.outbox.undelivered(telegram)
  assert.equal(sending, undefined)

  await gateway.migrateChat(move)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
  const [pending] = await gateway.pendingTurns({ ...telegram, since: 0 })
  const [reply] = await gateway.outbox.undelivered(telegram)

  for (const source of [pending?.lane.source, reply?.source]) {
    assert.deepEqual([source?.chatId, source?.messageId], ['-1005', undefined])
  }
  assert.equal(pending?.lane.sessionId, unanswered.lane.sessionId)
})

test('moving a chat nobody has written in, or to itself, is remembered or nothing', async (t) => {
  const { store, gateway } = await gatewayOn(t)

  await gateway.migrateChat({ ...move, toChatId: '-5' })
  await gateway.migrateChat(move)
  const late = await say(gateway, old)
  const after = await say(gateway, young)

  assert.equal(after.lane.sessionId, late.lane.sessionId)
  assert.equal(await store.sessions.count(), 1)
})

test('an id that is missing or has lost digits is refused by name', async (t) => {
  const { gateway } = await gatewayOn(t)
  const isInvalid = (field: string) => (error: unknown) =>
    error instanceof InvalidInputError && error.field === field

  await assert.rejects(gateway.migrateChat({ ...move, toChatId: '' }), isInvalid('toChatId'))
  await assert.rejects(
    gateway.migrateChat({ ...move, fromChatId: 2 ** 60 }),
    isInvalid('fromChatId'),
  )
  await assert.rejects(gateway.migrateChat({ ...move, platform: '' }), isInvalid('platform'))
})

test('what a conversation used before and after the move is counted under both ids', async (t) => {
  const { gateway } = await gatewayOn(t)
  for (const source of [old, young]) {
    const { lane, messageId } = await say(gateway, source)
    const messages = [{ role: 'assistant', content: 'hi' }]
    await gateway.turn(lane, { answers: messageId, messages, usage: { outputTokens: 1 } })
    await gateway.migrateChat(move)
  }

  const turns = [old, young].map(async (source) => {
    const [today] = await gateway.usageByDay(source, { scope: 'lane' })
    return today?.turns
  })

  assert.deepEqual(await Promise.all(turns), [2, 2])
})

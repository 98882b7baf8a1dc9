import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { run, sequentialize } from '@grammyjs/runner'
import { Bot, type Context } from 'grammy'

import type { Store } from '../../src/index.ts'
import { openGateway, telegramSource, type Gateway } from '../../src/gateway-adapter/index.ts'
import { startFakeBotApi, type FakeBotApi } from '../support/fake-bot-api.ts'
import { openTempStore } from '../support/temp-store.ts'
import { takeUpdate, type BotParts } from './telegram-bot.ts'

interface Given extends AsyncDisposable {
  api: FakeBotApi
  store: Store
  gateway: Gateway
}

/** A grammY bot under the runner, which takes updates at once but those of one conversation in order. */
async function running(
  t: TestContext,
  ask: BotParts['ask'] = async (question) => `re: ${question}`,
): Promise<Given> {
  const store = await openTempStore(t)
  const gateway = await openGateway(store)
  const api = await startFakeBotApi()
  const bot = new Bot(api.token, { client: { apiRoot: api.apiRoot } })
  await bot.init()
  const botId = bot.botInfo.id
  const parts: BotParts = {
    gateway,
    botId,
    ask,
    send: async (chatId, text, options) =>
      (await bot.api.sendMessage(chatId, text, options)).message_id,
  }
  const keyOf = ({ update }: Context) => {
    const source = telegramSource(update, { botId })
    return source && gateway.keyOf(source)
  }
  bot.use(sequentialize(keyOf))
  const work: Promise<void>[] = []
  bot.use(({ update }) => {
    const taken = takeUpdate(parts, update)
    work.push(taken)
    return taken
  })
  const runner = run(bot, { runner: { fetch: { timeout: 1 }, silent: true } })
  return {
    api,
    store,
    gateway,
    async [Symbol.asyncDispose]() {
      await runner.stop()
      await Promise.all(work)
      await api.close()
    },
  }
}

async function textsOf(store: Store, sessionId: string): Promise<unknown[]> {
  return (await store.messages.list(sessionId)).map(({ content }) => content)
}

test('the runner answers chats at the same time, and one chat in order', async (t) => {
  const started = new Map<number, PromiseWithResolvers<void>>(
    [1, 2].map((chat) => [chat, Promise.withResolvers()]),
  )
  let inFlight = 0
  await using bot = await running(t, async (question, { source }) => {
    const chat = Number(source.chatId)
    assert.equal((inFlight += chat === 1 ? 1 : 0) <= 1, true)
    started.get(chat)?.resolve()
    // Neither is answered before both are being answered.
    await Promise.all([...started.values()].map(({ promise }) => promise))
    inFlight -= chat === 1 ? 1 : 0
    return `re: ${question}`
  })

  for (const n of [1, 2, 3, 4, 5]) {
    bot.api.pushMessage({ chatId: 1, userId: 1, text: `a${n}` })
  }
  bot.api.pushMessage({ chatId: 2, userId: 2, text: 'b1' })
  for (let n = 0; n < 6; n += 1) await bot.api.nextSent()

  const chat = { platform: 'telegram', account: bot.api.me.id, chatType: 'dm', chatId: 1 }
  const { sessionId } = await bot.gateway.resolve(chat)
  assert.deepEqual(
    await textsOf(bot.store, sessionId),
    [1, 2, 3, 4, 5].flatMap((n) => [`a${n}`, `re: a${n}`]),
  )
})

test('an update that comes again is answered once, also while the first is being answered', async (t) => {
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  await using bot = await running(t, async (question) => {
    asked.resolve()
    await go.promise
    return `re: ${question}`
  })

  const update = bot.api.pushMessage({ chatId: 1, userId: 1, text: 'hello' })
  await asked.promise
  bot.api.redeliver(update.update_id)
  await bot.api.waitForAck(update.update_id)
  go.resolve()
  await bot.api.nextSent()
  bot.api.redeliver(update.update_id)
  await bot.api.waitForAck(update.update_id)
  bot.api.pushMessage({ chatId: 1, userId: 1, text: 'next' })
  const next = await bot.api.nextSent()

  assert.equal(next.payload['text'], 're: next')
  assert.equal(bot.api.sent.filter(({ method }) => method === 'sendMessage').length, 2)
  assert.equal(await bot.store.messages.count(), 4)
})

test('an edited message is another text of the same message, and gets no answer', async (t) => {
  await using bot = await running(t)
  const { message } = bot.api.pushMessage({ chatId: 1, userId: 1, text: 'helo' })
  await bot.api.nextSent()

  const edit = bot.api.pushEdit(1, message!.message_id, 'hello')
  await bot.api.waitForAck(edit.update_id)
  bot.api.pushMessage({ chatId: 1, userId: 1, text: 'next' })
  await bot.api.nextSent()

  const [session] = await bot.store.sessions.recent({ limit: 1 })
  assert.deepEqual(await textsOf(bot.store, session!.id), ['hello', 're: helo', 'next', 're: next'])
})

test('topics of a forum are conversations of their own, General among them', async (t) => {
  await using bot = await running(t)
  const forum = { chatId: -100, userId: 7, isForum: true, firstName: 'Ada' }
  const topic = { ...forum, threadId: 42, isTopicMessage: true }

  bot.api.pushMessage({ ...topic, text: 'in the topic' })
  const inTopic = await bot.api.nextSent()
  bot.api.pushMessage({ ...forum, text: 'in General' })
  const inGeneral = await bot.api.nextSent()
  bot.api.pushMessage({ ...topic, userId: 8, firstName: 'Bob', text: 'me too' })
  await bot.api.nextSent()

  assert.equal(inTopic.payload['message_thread_id'], 42)
  assert.equal(inGeneral.payload['message_thread_id'], undefined)
  const sessions = await bot.store.db
    .selectFrom('store_chat_routes')
    .select(['session_key', 'session_id'])
    .orderBy('id')
    .execute()
  assert.deepEqual(
    sessions.map((route) => route.session_key),
    ['agent:main:telegram:group:-100:42', 'agent:main:telegram:group:-100:1'],
  )
  assert.deepEqual(await textsOf(bot.store, sessions[0]!.session_id!), [
    '[Ada] in the topic',
    're: [Ada] in the topic',
    '[Bob] me too',
    're: [Bob] me too',
  ])
})

test('a group that becomes a supergroup keeps the sessions of its members', async (t) => {
  await using bot = await running(t)
  const date = Math.floor(Date.now() / 1000)
  const group = { id: -5, type: 'group' as const, title: 'Us' }
  const supergroup = { id: -1005, type: 'supergroup' as const, title: 'Us' }
  const from = { id: 7, is_bot: false, first_name: 'Ada' }
  bot.api.pushMessage({ chatId: -5, chatType: 'group', userId: 7, text: 'before' })
  await bot.api.nextSent()

  bot.api.pushUpdate({
    message: { message_id: 90, date, chat: group, from, migrate_to_chat_id: -1005 },
  })
  const told = bot.api.pushUpdate({
    message: { message_id: 1, date, chat: supergroup, from, migrate_from_chat_id: -5 },
  })
  await bot.api.waitForAck(told.update_id)
  // The new chat counts its messages from the beginning: this id was one of the old chat.
  bot.api.pushMessage({ chatId: -1005, userId: 7, messageId: 2, text: 'after' })
  const answer = await bot.api.nextSent()

  assert.equal(answer.payload['chat_id'], -1005)
  const sessions = await bot.store.sessions.recent({ limit: 5 })
  assert.equal(sessions.length, 1)
  assert.deepEqual(await textsOf(bot.store, sessions[0]!.id), [
    'before',
    're: before',
    'after',
    're: after',
  ])
})

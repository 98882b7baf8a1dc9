import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Telegraf } from 'telegraf'

import { openGateway } from '../../src/gateway-adapter/index.ts'
import { startFakeBotApi } from '../support/fake-bot-api.ts'
import { openTempStore } from '../support/temp-store.ts'
import { takeUpdate } from './telegram-bot.ts'

test('a Telegraf bot answers each message once, a redelivered one too, and knows what was said', async (t) => {
  const store = await openTempStore(t)
  const gateway = await openGateway(store)
  await using api = await startFakeBotApi()
  const bot = new Telegraf(api.token, { telegram: { apiRoot: api.apiRoot } })
  bot.use((ctx) =>
    takeUpdate(
      {
        gateway,
        botId: ctx.botInfo.id,
        send: async (chatId, text, options) =>
          (await ctx.telegram.sendMessage(chatId, text, options)).message_id,
        ask: async (question) => `re: ${question}`,
      },
      ctx.update,
    ),
  )
  const stopped = bot.launch()

  const update = api.pushMessage({ chatId: 1, userId: 1, text: 'hello' })
  await api.nextSent()
  api.redeliver(update.update_id)
  await api.waitForAck(update.update_id)
  const { message } = api.pushMessage({ chatId: -100, userId: 7, isForum: true, text: 'all' })
  const inForum = await api.nextSent()
  const edit = api.pushEdit(-100, message!.message_id, 'everybody')
  await api.waitForAck(edit.update_id)
  api.pushMessage({ chatId: 1, userId: 1, text: 'again' })
  await api.nextSent()
  bot.stop()
  await stopped

  assert.deepEqual(
    [inForum.payload['chat_id'], inForum.payload['text']],
    [-100, 're: [User 7] all'],
  )
  const texts = async (chat: object) => {
    const { sessionId } = await gateway.resolve({
      platform: 'telegram',
      account: api.me.id,
      chatType: 'group',
      ...chat,
    })
    return (await store.messages.list(sessionId)).map(({ content }) => content)
  }
  assert.deepEqual(await texts({ chatType: 'dm', chatId: 1 }), [
    'hello',
    're: hello',
    'again',
    're: again',
  ])
  assert.deepEqual(await texts({ chatId: -100, threadId: 1 }), [
    '[User 7] everybody',
    're: [User 7] all',
  ])
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { Bot, webhookCallback } from 'grammy'

import { openGateway } from '../../src/gateway-adapter/index.ts'
import { startFakeBotApi } from '../support/fake-bot-api.ts'
import { openTempStore } from '../support/temp-store.ts'
import { takeUpdate } from './telegram-bot.ts'

test('a webhook that gives up on a slow model gets the update again, and answers it once', async (t) => {
  const store = await openTempStore(t)
  const gateway = await openGateway(store)
  await using api = await startFakeBotApi()
  const bot = new Bot(api.token, { client: { apiRoot: api.apiRoot } })
  const thinking = Promise.withResolvers<void>()
  const asked: string[] = []
  const work: Promise<void>[] = []
  bot.use(({ update }) => {
    const taken = takeUpdate(
      {
        gateway,
        botId: bot.botInfo.id,
        send: async (chatId, text) => (await bot.api.sendMessage(chatId, text)).message_id,
        ask: async (question) => {
          asked.push(question)
          await thinking.promise
          return 'at last'
        },
      },
      update,
    )
    work.push(taken)
    return taken
  })
  const callback = webhookCallback(bot, 'http', { timeoutMilliseconds: 100 })
  const server = createServer((request, response) => {
    callback(request, response).catch(() => response.writeHead(500).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const update = api.pushMessage({ chatId: 1, userId: 1, text: 'hello' })
  const deliver = async () => {
    const response = await fetch(`http://127.0.0.1:${port}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(update),
    })
    return response.status
  }

  const first = await deliver()
  const second = await deliver()
  thinking.resolve()
  const answer = await api.nextSent()
  const third = await deliver()
  await Promise.all(work)

  assert.deepEqual([first, second, third], [500, 500, 200])
  assert.deepEqual(asked, ['hello'])
  assert.equal(answer.payload['text'], 'at last')
  assert.equal(api.sent.filter(({ method }) => method === 'sendMessage').length, 1)
  assert.equal(await store.messages.count(), 2)
})

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startFakeBotApi, type FakeBotApi } from '../support/fake-bot-api.ts'
import { startFakeChatCompletions } from '../support/fake-chat-completions.ts'
import { tempFolder } from '../support/temp-store.ts'
import { startGateway } from './start-gateway.ts'

const UPDATES = 500
const CHATS = 10

test('two processes on one file that get the same 500 updates answer each once', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using one = await startFakeBotApi()
  await using other = await startFakeBotApi()
  await using model = await startFakeChatCompletions()
  const start = (telegram: FakeBotApi) =>
    startGateway(file, {
      env: {
        TELEGRAM_BOT_TOKEN: telegram.token,
        TELEGRAM_API_ROOT: telegram.apiRoot,
        OPENAI_BASE_URL: model.baseUrl,
      },
    })
  await using first = start(one)
  await using second = start(other)
  await first.waitForOutput('serving @')
  await second.waitForOutput('serving @')

  let lastUpdateId = 0
  for (let n = 1; n <= UPDATES; n += 1) {
    const chat = 1 + (n % CHATS)
    const message = { chatId: chat, userId: chat, text: `m${n}`, messageId: n }
    for (const telegram of [one, other]) lastUpdateId = telegram.pushMessage(message).update_id
  }
  await one.waitForAck(lastUpdateId, 60_000)
  await other.waitForAck(lastUpdateId, 60_000)
  const sent = () => [...one.sent, ...other.sent].filter(({ method }) => method === 'sendMessage')
  // Acknowledged is not answered: a stopping gateway leaves its last turns to the next one.
  await using store = await openStore({ path: file })
  const delivered = () =>
    store.db.selectFrom('store_outbox').select('id').where('done_at', 'is not', null).execute()
  while ((await delivered()).length < UPDATES) await new Promise((resume) => setTimeout(resume, 50))
  await first.kill()
  await second.kill()

  const expected = Array.from({ length: UPDATES }, (_, n) => `echo: m${n + 1}`).toSorted()
  assert.deepEqual(
    sent()
      .map(({ payload }) => String(payload['text']))
      .toSorted(),
    expected,
  )
  assert(one.sent.length > 1 && other.sent.length > 1, 'both took part')
  assert.equal(model.requests.length, UPDATES)
  const sessions = await store.sessions.list()
  assert.equal(sessions.length, CHATS)
  for (const { id, messageCount, apiCallCount } of sessions) {
    const messages = await store.messages.list(id)
    assert.deepEqual([messageCount, apiCallCount], [messages.length, UPDATES / CHATS])
    const said = (role: string) =>
      messages.filter((m) => m.role === role).map((m) => m.content as string)
    assert.deepEqual(
      said('assistant'),
      said('user').map((text) => `echo: ${text}`),
    )
    assert.equal(said('user').length, UPDATES / CHATS)
  }
})

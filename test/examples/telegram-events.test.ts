import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startFakeBotApi, type BotApiCall, type FakeBotApi } from '../support/fake-bot-api.ts'
import { tempFolder } from '../support/temp-store.ts'
import { shortLease, startGateway } from './start-gateway.ts'

const ada = { chatId: 12345, userId: 12345, firstName: 'Ada' }

test('an edited message is a new text of the old one, in the model and in the file', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using gateway = startGateway(file, { env: telegramEnv(telegram) })
  telegram.pushMessage({ ...ada, text: 'my cat is called Miso', messageId: 100 })
  await telegram.nextSent()

  const edit = telegram.pushEdit(ada.chatId, 100, 'my cat is called Momo')
  telegram.pushEdit(ada.chatId, 100, 'my cat is called Mimi')
  telegram.redeliver(edit.update_id)
  telegram.pushMessage({ ...ada, text: 'what is her name?' })
  const answer = await telegram.nextSent()
  await gateway.kill()

  assert.match(textOf(answer), /remember here: 3\.\nYou began with: "my cat is called Mimi"/)
  await using store = await openStore({ path: file })
  assert.equal(await store.messages.count(), 4)
  const revisions = await store.db.selectFrom('store_revisions').select('content').execute()
  assert.deepEqual(
    revisions.map(({ content }) => content),
    ['my cat is called Miso', 'my cat is called Momo'],
  )
})

test('/undo and /branch change what the bot remembers', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using gateway = startGateway(file, { env: telegramEnv(telegram) })
  const say = async (text: string) => {
    telegram.pushMessage({ ...ada, text })
    return textOf(await telegram.nextSent())
  }
  await say('one')
  await say('two')

  assert.equal(await say('/undo'), 'Took back 1 question, from: two')
  assert.equal(await say('/branch'), 'A branch: branch, 2 messages.')
  assert.match(await say('three'), /remember here: 3\./)
  assert.equal(await say('/undo 9'), 'Took back 2 questions, from: one')
  assert.equal(await say('/undo'), 'There is nothing to take back.')
  assert.equal(await say('/branch'), 'Nothing has been said yet.')
  await gateway.kill()
})

test('an answer that Telegram refuses for now is sent a little later, once', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using gateway = startGateway(file, { env: telegramEnv(telegram) })

  telegram.failNext('sendMessage', { status: 400, description: 'Bad Request: try again' })
  telegram.pushMessage({ ...ada, text: 'hello' })
  const answer = await telegram.nextSent()
  await gateway.kill()

  assert.match(textOf(answer), /remember here: 1\./)
  assert.equal(telegram.sent.filter(({ method }) => method === 'sendMessage').length, 1)
  await using store = await openStore({ path: file })
  const [reply] = await store.db.selectFrom('store_outbox').selectAll().execute()
  assert.deepEqual([reply?.attempts, reply?.last_error?.includes('try again')], [2, true])
  assert(reply?.done_at)
})

test('when a gateway dies between sending and knowing, the next one says that it may repeat itself', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  const env = { ...telegramEnv(telegram), ...shortLease }
  await using first = startGateway(file, { env })
  telegram.holdNext('sendMessage')
  telegram.pushMessage({ ...ada, text: 'hello' })
  const lost = await telegram.nextSent()
  await first.kill('SIGKILL')

  await using second = startGateway(file, { env })
  const warning = await telegram.nextSent()
  const repeated = await telegram.nextSent()
  await second.waitForOutput('was possibly sent')
  await second.kill()

  assert.match(textOf(warning), /may have got this already/)
  assert.equal(textOf(repeated), textOf(lost))
})

function telegramEnv(telegram: FakeBotApi): Record<string, string> {
  return { TELEGRAM_BOT_TOKEN: telegram.token, TELEGRAM_API_ROOT: telegram.apiRoot }
}

function textOf(call: BotApiCall): string {
  return String(call.payload['text'])
}

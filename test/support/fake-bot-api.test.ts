import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bot, GrammyError } from 'grammy'
import { startFakeBotApi } from './fake-bot-api.ts'
import type { FakeBotApi } from './fake-bot-api.ts'

test('a grammY bot polls, answers and acknowledges', async () => {
  await using api = await startFakeBotApi()
  await using bot = startEchoBot(api)

  const update = api.pushMessage({ chatId: 7, userId: 7, text: 'hello' })
  const call = await api.nextSent()
  await api.waitForAck(update.update_id)

  assert.equal(call.payload['text'], 'you said hello')
  assert.equal((call.result as { message_id: number }).message_id, 2)
  assert.deepEqual(bot.seen, ['hello'])
})

test('a redelivered update reaches the grammY bot again', async () => {
  await using api = await startFakeBotApi()
  await using bot = startEchoBot(api)
  const update = api.pushMessage({ chatId: 7, userId: 7, text: 'twice' })
  await api.waitForAck(update.update_id)

  api.redeliver(update.update_id)
  await api.waitForAck(update.update_id)
  api.pushMessage({ chatId: 7, userId: 7, text: 'after' })
  await api.nextSent(({ payload }) => payload['text'] === 'you said after')

  assert.deepEqual(bot.seen, ['twice', 'twice', 'after'])
})

test('an update nobody acknowledged comes back to the next poller', async () => {
  await using api = await startFakeBotApi()
  const { update_id } = api.pushMessage({ chatId: 7, userId: 7, text: 'lost' })
  const poll = async (offset: number) => {
    const response = await fetch(`${api.apiRoot}/bot${api.token}/getUpdates?offset=${offset}`)
    const { result } = (await response.json()) as { result: { update_id: number }[] }
    return result.map((update) => update.update_id)
  }

  const polls = [await poll(0), await poll(update_id), await poll(update_id + 1)]

  assert.deepEqual(polls, [[update_id], [update_id], []])
})

test('a slash text is a command, an edit is an edited_message', async () => {
  await using api = await startFakeBotApi()
  await using bot = startEchoBot(api)

  api.pushMessage({ chatId: -5, userId: 7, text: '/new@fake_bot My title', isForum: true })
  const command = await api.nextSent()
  api.pushEdit(-5, 1, 'changed')
  const edit = await api.nextSent()

  assert.equal(command.payload['text'], 'new: My title')
  assert.equal(edit.payload['text'], 'edited: changed')
  assert.deepEqual(bot.seen, [])
})

test('failNext refuses calls of one method, with retry_after', async () => {
  await using api = await startFakeBotApi()
  const bot = new Bot(api.token, { client: { apiRoot: api.apiRoot } })
  api.pushMessage({ chatId: 7, userId: 7, text: 'hi' })
  api.failNext('sendMessage', { status: 429, description: 'Too Many Requests', retryAfter: 3 })

  const refusal = await bot.api.sendMessage(7, 'one').catch((error: unknown) => error)
  const message = await bot.api.sendMessage(7, 'two')

  assert(refusal instanceof GrammyError)
  assert.equal(refusal.parameters.retry_after, 3)
  assert.equal(message.text, 'two')
  assert.deepEqual(
    api.sent.map(({ payload }) => payload['text']),
    ['two'],
  )
})

test('a held call is carried out but never answered', async () => {
  await using api = await startFakeBotApi()
  api.pushMessage({ chatId: 7, userId: 7, text: 'hi' })
  const giveUp = new AbortController()

  api.holdNext('sendMessage')
  const sending = fetch(`${api.apiRoot}/bot${api.token}/sendMessage?chat_id=7&text=dark`, {
    signal: giveUp.signal,
  })
  const { payload } = await api.nextSent()
  giveUp.abort()

  assert.equal(payload['text'], 'dark')
  await assert.rejects(sending, { name: 'AbortError' })
})

test('a second poller ends the first with a conflict', async () => {
  await using api = await startFakeBotApi()
  await using bot = startEchoBot(api)
  const conflict = assert.rejects(bot.running, { error_code: 409 })
  const { update_id } = api.pushMessage({ chatId: 7, userId: 7, text: 'polling' })
  await api.waitForAck(update_id)

  const second = await fetch(`${api.apiRoot}/bot${api.token}/getUpdates`)

  assert.equal(second.status, 200)
  await conflict
})

test('an unknown method, chat or token is refused as Telegram does', async () => {
  await using api = await startFakeBotApi()
  const bot = new Bot(api.token, { client: { apiRoot: api.apiRoot } })
  const stranger = new Bot('1:other', { client: { apiRoot: api.apiRoot } })
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 0,
      (error: GrammyError) => error.error_code,
    )

  assert.equal(await codeOf(bot.api.getChat(7)), 404)
  assert.equal(await codeOf(bot.api.sendMessage(99, 'x')), 400)
  assert.equal(await codeOf(stranger.api.getMe()), 401)
})

test('forms are read like JSON', async () => {
  await using api = await startFakeBotApi()
  api.pushMessage({ chatId: 7, userId: 7, text: 'hi' })
  const body = new FormData()
  body.set('chat_id', '7')
  body.set('text', '42')

  await fetch(`${api.apiRoot}/bot${api.token}/sendMessage`, { method: 'POST', body })

  assert.deepEqual(api.sent[0]?.payload, { chat_id: 7, text: '42' })
})

function startEchoBot(
  api: FakeBotApi,
): AsyncDisposable & { seen: string[]; running: Promise<void> } {
  const seen: string[] = []
  const bot = new Bot(api.token, { client: { apiRoot: api.apiRoot } })
  bot.command('new', (ctx) => ctx.reply(`new: ${ctx.match}`))
  bot.on('edited_message:text', (ctx) => ctx.reply(`edited: ${ctx.editedMessage.text}`))
  bot.on('message:text', (ctx) => {
    seen.push(ctx.message.text)
    return ctx.reply(`you said ${ctx.message.text}`)
  })
  const running = bot.start()
  return {
    seen,
    running,
    async [Symbol.asyncDispose]() {
      await bot.stop()
      await Promise.allSettled([running])
    },
  }
}

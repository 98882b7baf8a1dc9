import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { startFakeBotApi, type FakeBotApi } from '../support/fake-bot-api.ts'
import {
  startFakeChatCompletions,
  type FakeChatCompletions,
} from '../support/fake-chat-completions.ts'
import { startFakeDiscord } from '../support/fake-discord.ts'
import { tempFolder } from '../support/temp-store.ts'
import { extractGuide, type Guide } from './gateway-guide.ts'

test('the guide compiles, and every block of code in it is a file that is compiled', async (t) => {
  const guide = extractGuide(t)
  const text = readFileSync(path.join(import.meta.dirname, '../../docs/gateway.md'), 'utf8')

  await using compiler = guide.compile()
  const { code } = await compiler.exited

  assert.equal(code, 0, compiler.stdout)
  assert.equal(guide.files.length, text.match(/^```ts$/gm)?.length)
})

function startTelegram(guide: Guide, api: FakeBotApi, model: FakeChatCompletions) {
  return guide.start('telegram.ts', {
    TELEGRAM_BOT_TOKEN: api.token,
    TELEGRAM_API_ROOT: api.apiRoot,
    OPENAI_BASE_URL: model.baseUrl,
  })
}

const said = async (folder: string, chat: { chatType: string; chatId: number }) => {
  await using store = await openStore({ path: path.join(folder, 'state.db') })
  const gateway = await openGateway(store)
  const source = { platform: 'telegram', account: 4242, ...chat, userId: 7 }
  const { sessionId } = await gateway.resolve(source)
  return (await store.messages.list(sessionId)).map(({ content }) => content)
}

test("the guide's Telegram bot answers once, takes commands and edits, follows a group that moves, and stops", async (t) => {
  const guide = extractGuide(t)
  await using api = await startFakeBotApi()
  await using model = await startFakeChatCompletions({ apiKey: 'k' })
  await using bot = startTelegram(guide, api, model)
  await bot.waitForOutput('serving')
  const dm = { chatId: 7, userId: 7 }

  const update = api.pushMessage({ ...dm, text: 'hello' })
  const first = await api.nextSent()
  api.redeliver(update.update_id)
  await api.waitForAck(update.update_id)
  const edit = api.pushEdit(7, update.message!.message_id, 'good day')
  await api.waitForAck(edit.update_id)
  api.pushMessage({ ...dm, text: '/title Trip' })
  const titled = await api.nextSent()
  api.pushMessage({ ...dm, text: '/new' })
  await api.nextSent()
  api.pushMessage({ ...dm, text: '/resume Trip' })
  const back = await api.nextSent()
  api.pushMessage({ ...dm, text: '/usage' })
  const usage = await api.nextSent()
  api.pushMessage({ chatId: -5, chatType: 'group', userId: 7, text: 'before' })
  await api.nextSent()
  const { message } = api.pushMessage({ chatId: -5, chatType: 'group', userId: 7, text: '/usage' })
  await api.nextSent()
  api.pushUpdate({ message: { ...message!, message_id: 90, migrate_to_chat_id: -1005 } })
  api.pushMessage({ chatId: -1005, userId: 7, messageId: 1, text: 'after' })
  const moved = await api.nextSent()
  await bot.kill('SIGTERM')

  const texts = [first, titled, back, moved].map(({ payload }) => payload['text'])
  assert.deepEqual(texts, ['echo: hello', 'Trip', 'Back in Trip.', 'echo: after'])
  assert.match(String(usage.payload['text']), /^\d+ tokens, no costs known$/)
  assert.deepEqual(await bot.exited, { code: 0, signal: null }, bot.stderr)
  assert.equal(bot.stderr, '')
  assert.deepEqual(await said(guide.folder, { chatType: 'dm', chatId: 7 }), [
    'good day',
    'echo: hello',
  ])
  assert.deepEqual(await said(guide.folder, { chatType: 'group', chatId: -1005 }), [
    'before',
    'echo: before',
    'after',
    'echo: after',
  ])
})

test("the guide's Telegram bot, killed while the model thinks, answers after its next start, once", async (t) => {
  const guide = extractGuide(t)
  await using api = await startFakeBotApi()
  await using model = await startFakeChatCompletions({ apiKey: 'k' })
  model.reply = () => ({ content: 'too late', delayMs: 60_000 })
  await using killed = startTelegram(guide, api, model)
  await killed.waitForOutput('serving')
  const update = api.pushMessage({ chatId: 7, userId: 7, text: 'hello' })
  await model.nextRequest()
  await killed.kill('SIGKILL')
  model.reply = () => ({ content: 'here I am' })

  await using bot = startTelegram(guide, api, model)
  await bot.waitForOutput('serving')
  api.redeliver(update.update_id)
  const answer = await api.nextSent(undefined, 30_000)
  await bot.kill('SIGTERM')

  assert.equal(answer.payload['text'], 'here I am')
  assert.deepEqual(await bot.exited, { code: 0, signal: null }, bot.stderr)
  assert.equal(api.sent.filter(({ method }) => method === 'sendMessage').length, 1)
  assert.deepEqual(await said(guide.folder, { chatType: 'dm', chatId: 7 }), ['hello', 'here I am'])
})

test("the guide's Discord bot answers once, in threads too, forgets what is deleted, and takes slash commands", async (t) => {
  const guide = extractGuide(t)
  await using discord = await startFakeDiscord()
  await using model = await startFakeChatCompletions({ apiKey: 'k' })
  await using bot = guide.start('discord.ts', {
    DISCORD_TOKEN: discord.token,
    DISCORD_API: discord.rest,
    OPENAI_BASE_URL: model.baseUrl,
  })
  await bot.waitForOutput('serving')
  const ada = { authorId: '900000000000000007', authorName: 'ada' }
  const contents = async () => (await model.nextRequest()).body.messages.map((each) => each.content)

  const hello = discord.pushMessage({ ...ada, content: 'hello' })
  const first = await discord.nextSent()
  await contents()
  discord.redeliver(hello.id)
  discord.pushEdit(hello.id, 'good day')
  const secret = discord.pushMessage({ ...ada, content: 'a secret' })
  await discord.nextSent()
  const withEdit = await contents()
  discord.pushDelete(secret.id)
  discord.pushMessage({ ...ada, content: 'and now?' })
  await discord.nextSent()
  const withoutSecret = await contents()
  const thread = discord.pushThread('a thread', ada.authorId)
  discord.pushMessage({ ...ada, channelId: thread.id, content: 'in here' })
  await discord.nextSent()
  const inThread = await contents()
  discord.pushCommand({ name: 'title', userId: ada.authorId, options: { text: 'Trip' } })
  const titled = await discord.nextSent()
  await bot.kill('SIGTERM')

  assert.equal(first.content, 'echo: hello')
  assert.deepEqual(withEdit, ['good day', 'echo: hello', 'a secret'])
  assert.deepEqual(withoutSecret, ['good day', 'echo: hello', 'echo: a secret', 'and now?'])
  assert.deepEqual(inThread, ['[ada] in here'])
  assert.equal(titled.content, 'Trip')
  assert.deepEqual(await bot.exited, { code: 0, signal: null }, bot.stderr)
  assert.equal(bot.stderr, '')
})

test("the guide's resets and its library stores work", async (t) => {
  const guide = extractGuide(t)
  const { openWithResets } = (await import(path.join(guide.folder, 'resets.ts'))) as {
    openWithResets: (store: object, atWork: Set<string>) => Promise<{ store: object }>
  }
  await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })

  const gateway = await openWithResets(store, new Set())
  await using libraries = guide.start('libraries.ts')
  const { code } = await libraries.exited

  assert.equal(gateway.store, store)
  assert.deepEqual([code, libraries.stdout], [0, 'de 1\n'], libraries.stderr)
})

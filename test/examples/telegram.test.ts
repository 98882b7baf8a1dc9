import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { connectWriter } from '../../src/database/connection.ts'
import { openStore } from '../../src/index.ts'
import { startFakeBotApi, type BotApiCall, type FakeBotApi } from '../support/fake-bot-api.ts'
import { startFakeChatCompletions } from '../support/fake-chat-completions.ts'
import { startFakeDiscord } from '../support/fake-discord.ts'
import {
  jsonLines,
  pythonWriter,
  runPython,
  skipWithoutPython,
  startPython,
  type PythonWrite,
} from '../support/python.ts'
import { tempFolder } from '../support/temp-store.ts'
import { shortLease, startGateway } from './start-gateway.ts'

const ada = { chatId: 12345, userId: 12345, firstName: 'Ada' }

test('grammY takes messages and commands from Telegram, and the bot remembers', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using gateway = startGateway(file, { env: telegramEnv(telegram), input: '' })

  telegram.pushMessage({ ...ada, text: '/start' })
  assert.match(textOf(await telegram.nextSent()), /remember[^]*\/resume/)
  telegram.pushMessage({ ...ada, text: 'my cat is called Miso' })
  const first = await telegram.nextSent()
  telegram.pushMessage({ ...ada, text: 'and my dog Rex' })
  const second = await telegram.nextSent()
  telegram.pushMessage({ ...ada, text: '/search@fake_bot miso' })
  const third = await telegram.nextSent()
  telegram.pushMessage({ ...ada, text: '/new@other_bot' })
  const last = telegram.pushMessage({ ...ada, text: '/usage' })
  const usage = await telegram.nextSent()
  await telegram.waitForAck(last.update_id)
  const exit = await gateway.kill('SIGTERM')

  assert.match(textOf(first), /remember here: 1\./)
  assert.match(textOf(second), /remember here: 3\.\nYou began with: "my cat is called Miso"/)
  assert.match(textOf(third), />>>Miso<<</)
  assert.match(textOf(usage), /4 messages, 2 model calls/)
  assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
})

test('people of a group have sessions of their own, a topic is shared, and answers go to the right place', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using gateway = startGateway(file, { env: telegramEnv(telegram) })
  const group = { chatId: -100200, isForum: true }

  telegram.pushMessage({ ...group, userId: 7, firstName: 'Ada', text: 'to all' })
  const general = await telegram.nextSent()
  const topic = { ...group, threadId: 42, isTopicMessage: true }
  telegram.pushMessage({ ...topic, userId: 7, firstName: 'Ada', text: 'first' })
  const inTopic = await telegram.nextSent()
  telegram.pushMessage({ ...topic, userId: 8, firstName: 'Bob', text: 'second' })
  const shared = await telegram.nextSent()
  await gateway.kill()

  assert.equal(general.payload['message_thread_id'], undefined)
  assert.equal(inTopic.payload['message_thread_id'], 42)
  assert.deepEqual(inTopic.payload['reply_parameters'], {
    message_id: 2 + 1,
    allow_sending_without_reply: true,
  })
  assert.match(textOf(shared), /remember here: 3\.\nYou began with: "\[Ada\] first"/)
})

test('different chats are answered at the same time, one chat in order', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using model = await startFakeChatCompletions()
  model.reply = ({ messages }) => {
    const asked = messages.at(-1)?.content ?? ''
    return { content: `re: ${asked}`, delayMs: asked === 'slow' ? 700 : 0 }
  }
  await using gateway = startGateway(file, {
    env: { ...telegramEnv(telegram), ...modelEnv(model) },
  })

  telegram.pushMessage({ ...ada, text: 'slow' })
  telegram.pushMessage({ ...ada, text: 'after' })
  telegram.pushMessage({ chatId: 777, userId: 777, text: 'quick' })
  const answers = [await telegram.nextSent(), await telegram.nextSent(), await telegram.nextSent()]
  await gateway.kill()

  assert.deepEqual(answers.map(textOf), ['re: quick', 're: slow', 're: after'])
  const last = model.requests.find(({ body }) => body.messages.at(-1)?.content === 'after')
  assert.deepEqual(
    last?.body.messages.map(({ content }) => content),
    ['slow', 're: slow', 'after'],
  )
})

test('an update that comes again while it is being answered is answered once, by one model call', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using model = await startFakeChatCompletions()
  model.reply = () => ({ content: 'once', delayMs: 500 })
  await using gateway = startGateway(file, {
    env: { ...telegramEnv(telegram), ...modelEnv(model) },
  })

  const asked = telegram.pushMessage({ ...ada, text: 'hello' })
  await telegram.waitForAck(asked.update_id)
  telegram.redeliver(asked.update_id)
  await telegram.waitForAck(asked.update_id)
  await telegram.nextSent()
  telegram.pushMessage({ ...ada, text: '/usage' })
  const usage = await telegram.nextSent()
  await gateway.kill()

  assert.match(textOf(usage), /2 messages, 1 model call\n/)
  assert.equal(model.requests.length, 1)
})

test('a long answer is sent in parts that Telegram takes, and no character is torn', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using model = await startFakeChatCompletions()
  const long = `x${'🙂'.repeat(5000)}`
  model.reply = () => ({ content: long })
  await using gateway = startGateway(file, {
    env: { ...telegramEnv(telegram), ...modelEnv(model) },
  })

  telegram.pushMessage({ ...ada, text: 'tell me more' })
  const parts = [await telegram.nextSent(), await telegram.nextSent(), await telegram.nextSent()]
  await gateway.kill()

  assert.equal(parts.map(textOf).join(''), long)
  assert(parts.map(textOf).every((part) => part.isWellFormed() && part.length <= 4096))
})

test('when Telegram asks to wait, the answer is sent after that', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using gateway = startGateway(file, { env: telegramEnv(telegram) })

  telegram.failNext('sendMessage', { status: 429, description: 'Too Many Requests', retryAfter: 1 })
  telegram.pushMessage({ ...ada, text: 'hello' })

  assert.match(textOf(await telegram.nextSent()), /remember here: 1\./)
  await gateway.kill()
})

test('a refused token ends the program with the reason', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  const env = { ...telegramEnv(telegram), TELEGRAM_BOT_TOKEN: '1:wrong' }

  await using gateway = startGateway(file, { env })

  assert.equal((await gateway.exited).code, 1)
  assert.match(gateway.stderr, /401: Unauthorized/)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends a gateway that cannot reach Telegram yet`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    const env = { TELEGRAM_BOT_TOKEN: '1:x', TELEGRAM_API_ROOT: 'http://127.0.0.1:1' }
    await using gateway = startGateway(file, { env })
    await gateway.waitForOutput(/connecting/)
    await gateway.waitForOutput(/\[telegram\] cannot be reached \([A-Z]+\), trying again/)

    const exit = await gateway.kill(signal)

    assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
    assert.doesNotMatch(gateway.stderr, /1:x/)
  })
}

test('an outage of Telegram is told once, and its end', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  telegram.failNext('getMe', { status: 502, description: 'Bad Gateway', times: 2 })
  await using gateway = startGateway(file, { env: telegramEnv(telegram) })

  await gateway.waitForOutput('[telegram] serving')

  assert.match(
    gateway.stderr,
    /connecting\n.*reached \(502 .*Bad Gateway\), trying again\n.*reached again\n.*serving/,
  )
})

test('Discord is served while Telegram cannot be reached', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  const env = {
    TELEGRAM_BOT_TOKEN: '1:x',
    TELEGRAM_API_ROOT: 'http://127.0.0.1:1',
    DISCORD_TOKEN: discord.token,
    DISCORD_API_ROOT: discord.rest,
  }
  await using gateway = startGateway(file, { env })

  await gateway.waitForOutput(/\[discord\] serving/)
  const exit = await gateway.kill('SIGTERM')

  assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
})

test('after kill -9 the conversation goes on: nothing lost, nothing doubled, the open question answered', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using model = await startFakeChatCompletions()
  const env = { ...telegramEnv(telegram), ...modelEnv(model), ...shortLease }
  await using first = startGateway(file, { env })
  const answered = telegram.pushMessage({ ...ada, text: 'one' })
  await telegram.nextSent()
  model.reply = () => ({ content: 'never', delayMs: 60_000 })
  const open = telegram.pushMessage({ ...ada, text: 'two' })
  await model.nextRequest()
  await model.nextRequest()

  await first.kill('SIGKILL')
  model.reply = ({ messages }) => ({ content: `re: ${messages.at(-1)?.content}` })
  telegram.redeliver(answered.update_id)
  telegram.redeliver(open.update_id)
  await using second = startGateway(file, { env })
  const late = await telegram.nextSent()
  await telegram.waitForAck(answered.update_id)
  await telegram.waitForAck(open.update_id)
  telegram.pushMessage({ ...ada, text: 'three' })
  const next = await telegram.nextSent()
  await second.kill()

  assert.deepEqual([late, next].map(textOf), ['re: two', 're: three'])
  assert.equal(telegram.sent.filter(({ method }) => method === 'sendMessage').length, 3)
  assert.deepEqual(await transcript(file), [
    ['user', 'one'],
    ['assistant', 'echo: one'],
    ['user', 'two'],
    ['assistant', 're: two'],
    ['user', 'three'],
    ['assistant', 're: three'],
  ])
})

test('a gateway that is stopped while a lock keeps it from storing acknowledges nothing, and the next one answers', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  await using first = startGateway(file, { env: telegramEnv(telegram) })
  await first.waitForOutput('serving @fake_bot')
  const { raw } = connectWriter(file, 'FULL')
  raw.exec('begin immediate')
  telegram.pushMessage({ ...ada, text: 'hello' })
  // Long enough to be delivered; if it is not, there is nothing to lose.
  await sleep(500)

  await first.kill('SIGTERM')
  raw.exec('rollback')
  raw.close()
  await using second = startGateway(file, { env: telegramEnv(telegram) })
  const answer = await telegram.nextSent()
  await second.kill()

  assert.match(textOf(answer), /remember here: 1\./)
})

test(
  'a Python program that writes to the file all the while loses nothing and breaks nothing',
  { skip: skipWithoutPython() },
  async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    const writes = 150
    const messages = 40
    await using telegram = await startFakeBotApi()
    await using gateway = startGateway(file, { env: telegramEnv(telegram) })
    await gateway.waitForOutput('serving @fake_bot')
    await using python = startPython(pythonWriter, [file, 'agent', String(writes), '5'])
    await python.waitForOutput('"content"')

    for (let n = 1; n <= messages; n += 1) {
      telegram.pushMessage({ chatId: 1 + (n % 4), userId: 1 + (n % 4), text: `gateway ${n}` })
    }
    for (let n = 1; n <= messages; n += 1) await telegram.nextSent()
    assert.equal((await python.exited).code, 0, python.stderr)
    await gateway.kill()

    const written = jsonLines<PythonWrite>(python.stdout)
    assert.equal(written.length, writes)
    const [integrity, agent, users, answers, pending] = JSON.parse(
      await runPython(
        `import json, sqlite3, sys
c = sqlite3.connect(sys.argv[1])
one = lambda q: c.execute(q).fetchone()[0]
print(json.dumps([
  one("PRAGMA integrity_check"),
  one("SELECT count(DISTINCT content) FROM messages WHERE session_id = 'agent'"),
  one("SELECT count(DISTINCT content) FROM messages WHERE role = 'user' AND session_id != 'agent'"),
  one("SELECT count(*) FROM messages WHERE role = 'assistant'"),
  one("SELECT count(*) FROM store_inbound WHERE settled_at IS NULL"),
]))`,
        [file],
      ),
    ) as unknown[]
    assert.deepEqual(
      [integrity, agent, users, answers, pending],
      ['ok', writes, messages, messages, 0],
    )
  },
)

function telegramEnv(telegram: FakeBotApi): Record<string, string> {
  return { TELEGRAM_BOT_TOKEN: telegram.token, TELEGRAM_API_ROOT: telegram.apiRoot }
}

function modelEnv({ baseUrl }: { baseUrl: string }): Record<string, string> {
  return { OPENAI_BASE_URL: baseUrl }
}

function textOf(call: BotApiCall): string {
  return String(call.payload['text'])
}

async function transcript(file: string): Promise<[role: string, content: unknown][]> {
  await using store = await openStore({ path: file })
  const [session, ...others] = await store.sessions.list()
  assert.deepEqual(others, [])
  const messages = await store.messages.list(session?.id ?? '')
  return messages.map(({ role, content }) => [role, content])
}

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Bot, GrammyError } from 'grammy'
import { startNode, startProcess } from './child.ts'
import { startFakeBotApi } from './fake-bot-api.ts'
import type { FakeBotApi } from './fake-bot-api.ts'
import { startFakeChatCompletions } from './fake-chat-completions.ts'
import { jsonLines, pythonCreate, pythonWriter, runPython, skipWithoutPython } from './python.ts'
import type { PythonWrite } from './python.ts'

const V11_DDL = `
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, message_count INTEGER DEFAULT 0
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content TEXT, timestamp REAL NOT NULL
);
`

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

test('chat completions answer, count and fail in the shape of OpenAI', async () => {
  await using endpoint = await startFakeChatCompletions({ apiKey: 'k' })
  const ask = async (key: string) => {
    const response = await fetch(`${endpoint.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  const echoed = await ask('k')
  endpoint.reply = () => ({
    content: 'set',
    usage: { promptTokens: 9, completionTokens: 2, cachedTokens: 4 },
  })
  const set = await ask('k')
  endpoint.reply = () => ({ status: 503, content: 'overloaded' })
  const failed = await ask('k')
  const denied = await ask('wrong')

  assert.match(JSON.stringify(echoed.body), /echo: hi/)
  assert.deepEqual(set.body['usage'], {
    prompt_tokens: 9,
    completion_tokens: 2,
    total_tokens: 11,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 0 },
  })
  assert.equal(failed.status, 503)
  assert.deepEqual(failed.body['error'], {
    message: 'overloaded',
    type: 'server_error',
    param: null,
    code: null,
  })
  assert.equal(denied.status, 401)
  assert.equal(endpoint.requests.length, 3)
})

test('a child process is written to, read from and killed', async () => {
  const script = `process.stdin.on('data', (d) => console.log('got ' + d)).on('end', () => console.log('end'))`
  await using child = startProcess(process.execPath, ['-e', script])
  await using stuck = startProcess(process.execPath, [
    '-e',
    'setInterval(() => {}, 1000); console.log("up")',
  ])

  child.write('one')
  await child.waitForOutput(/got \w+/)
  child.write('two')
  const second = await child.waitForOutput(/got \w+/)
  child.end()
  await stuck.waitForOutput('up')

  assert.equal(second, 'got two')
  assert.deepEqual(await child.exited, { code: 0, signal: null })
  assert.deepEqual(await stuck.kill('SIGKILL'), { code: null, signal: 'SIGKILL' })
})

test('waiting for output ends with the process, and a missing program is an exit', async () => {
  await using child = startNode('no-such-script.ts')
  await using missing = startProcess('no-such-program', [])

  await assert.rejects(child.waitForOutput('never'), /exited .* it printed:[^]*no-such-script/)
  assert.notEqual((await missing.exited).code, 0)
  assert.match(missing.stderr, /ENOENT/)
})

test('Python writers share a file and lose nothing', { skip: skipWithoutPython() }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'fakes-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'state.db')
  await runPython(pythonCreate, [path], { input: V11_DDL })

  const outputs = await Promise.all([
    runPython(pythonWriter, [path, 'a', '60']),
    runPython(pythonWriter, [path, 'b', '60', '1']),
  ])

  const written = outputs.flatMap((output) => jsonLines<PythonWrite>(output))
  const counts = await runPython(
    'import json, sqlite3, sys\n' +
      'conn = sqlite3.connect(sys.argv[1])\n' +
      'rows = conn.execute("SELECT id, message_count FROM sessions ORDER BY id").fetchall()\n' +
      'total = conn.execute("SELECT count(*) FROM messages").fetchone()[0]\n' +
      'print(json.dumps([rows, total]))',
    [path],
  )
  assert.equal(new Set(written.map(({ id }) => id)).size, 120)
  assert.deepEqual(JSON.parse(counts), [
    [
      ['a', 60],
      ['b', 60],
    ],
    120,
  ])
})

function startEchoBot(api: FakeBotApi): AsyncDisposable & { seen: string[] } {
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
    async [Symbol.asyncDispose]() {
      await bot.stop()
      await running
    },
  }
}

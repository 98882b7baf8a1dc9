import assert from 'node:assert/strict'
import { copyFileSync, existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startProcess } from '../support/child.ts'
import { startFakeChatCompletions } from '../support/fake-chat-completions.ts'
import { tempFolder } from '../support/temp-store.ts'
import { chatLines, startGateway } from './start-gateway.ts'

const root = path.join(import.meta.dirname, '../..')

test('npm start without input says what it is, which file it uses and what is in it', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')

  await using npm = startProcess('npm', ['start', '--', '--db', file], { cwd: root, input: '' })
  const exit = await npm.exited

  assert.deepEqual(exit, { code: 0, signal: null }, npm.stderr)
  assert.match(npm.stdout, /Hermes Agent's own session store/)
  assert(npm.stdout.includes(file))
  assert.match(npm.stdout, /0 sessions, 0 messages \(schema version 11\)/)
})

test('without --db the file is in the data folder, and with HERMES_HOME it is that of Hermes', async (t) => {
  const folder = tempFolder(t)
  const script = path.join(root, 'examples/gateway/main.ts')
  const start = (env: Record<string, string>) =>
    startProcess(process.execPath, [script], { cwd: folder, env, input: '' }).exited

  await start({ HOME: path.join(folder, 'home') })
  await start({ HOME: path.join(folder, 'home'), HERMES_HOME: path.join(folder, 'hermes') })

  assert(existsSync(path.join(folder, 'data', 'state.db')))
  assert(existsSync(path.join(folder, 'hermes', 'state.db')))
  assert(!existsSync(path.join(folder, 'home')))
})

test('piped lines are answered in order, and the next start goes on where they ended', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')

  await using first = startGateway(file, {
    input: 'my cat is called Miso\r\n\nand a dog\n/title pets',
  })
  assert.equal((await first.exited).code, 0, first.stderr)
  await using second = startGateway(file, { input: 'hello again\n/history\n' })
  assert.equal((await second.exited).code, 0, second.stderr)

  assert.deepEqual(chatLines(first), [
    'I am the demo responder, no model. Messages I remember here: 1.',
    'This is the first thing you have told me.',
    'I am the demo responder, no model. Messages I remember here: 3.',
    'You began with: "my cat is called Miso"',
    'Title: pets',
  ])
  assert.match(chatLines(second)[0] ?? '', /Messages I remember here: 5\./)
  assert.match(chatLines(second).at(-1) ?? '', /^assistant: .*here: 5\./)
})

test('the commands work: new, title, resume, search, usage, history, help, and an unknown one', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')

  await using gateway = startGateway(file, {
    input: [
      'the treasure is under the oak',
      '/title Treasure',
      '/new Trip',
      '/search oak',
      '/resume',
      '/resume Treasure',
      '/usage',
      '/history',
      '/resume nowhere',
      '/new Trip',
      `/title ${'x'.repeat(101)}`,
      '/dance',
      '/help',
    ].join('\n'),
  })
  assert.equal((await gateway.exited).code, 0, gateway.stderr)

  const chat = chatLines(gateway).slice(2).join('\n')
  assert.match(chat, /^Title: Treasure\nA new conversation: Trip\n/)
  assert.match(chat, /user: the treasure is under the >>>oak<<< \(\d{8}_\d{6}_[0-9a-f]{8}\)/)
  assert.match(chat, /Treasure, local, 2 messages/)
  assert.match(chat, /Back in Treasure, 2 messages\./)
  assert.match(chat, /2 messages, 1 model call\n/)
  assert.match(chat, /user: the treasure is under the oak\n/)
  assert.match(chat, /no such conversation here/)
  assert.match(chat, /That title is taken\. Nothing was changed\./)
  assert.match(chat, /That does not work: .*title/)
  assert.match(chat, /I don't know \/dance/)
  assert.match(chat, /\/resume \[title/)
})

test('a session of an old Hermes file can be listed, searched, resumed and continued', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(path.join(root, 'test/fixtures/v8.db'), file)
  const { id, word } = await oldSession(file)

  await using gateway = startGateway(file, {
    input: `/resume\n/search ${word}\n/resume ${id}\nlet us go on\n/history\n`,
  })
  assert.equal((await gateway.exited).code, 0, gateway.stderr)

  const chat = chatLines(gateway).join('\n')
  assert.match(gateway.stderr, /upgrading 8 → 11/)
  assert(chat.includes(`${id}  `), chat)
  assert(chat.includes(`(${id})`), chat)
  assert.match(chat, /Back in /)
  await using store = await openStore({ path: file })
  const contents = (await store.messages.list(id)).map(({ content }) => content)
  assert.equal(contents.at(-2), 'let us go on')
  assert.equal((await store.sessions.get(id)).endedAt, null)
})

test('what somebody wrote cannot steer the terminal that shows it', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using store = await openStore({ path: file })
  const id = await store.sessions.create({ source: 'telegram' })
  await store.messages.append(id, { role: 'user', content: 'treasure \x1b]0;gone\x07 \x9b2J מפה' })

  await using gateway = startGateway(file, { input: '/search treasure\n' })
  await gateway.exited

  assert.match(gateway.stdout, /treasure<<< \ufffd\]0;gone\ufffd \ufffd2J מפה/)
})

test('a reader of its output that goes away ends the chat cleanly, with what was said stored', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using gateway = startGateway(file)
  await gateway.waitForOutput('Commands')

  gateway.stopReading()
  gateway.write('hello')
  const exit = await gateway.exited

  assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
  await using store = await openStore({ path: file })
  assert.equal(await store.messages.count(), 2)
})

test('a log that nobody reads any more does not end the chat', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  const script = path.join(root, 'examples/gateway/main.ts')
  const shell = 'exec 3>&1; { printf "hello\\n" | "$@" 2>&1 1>&3; echo "code $?" >&3; } | true'
  await using chat = startProcess('sh', ['-c', shell, 'sh', process.execPath, script, '--db', file])

  await chat.exited

  assert.match(chat.stdout, /remember here: 1\.[^]*code 0\n$/)
})

test('an unknown flag is told with the help and exit code 2', async (t) => {
  await using gateway = startGateway(path.join(tempFolder(t), 'x.db'), {
    args: ['--tea'],
    input: '',
  })

  assert.equal((await gateway.exited).code, 2)
  assert.match(gateway.stderr, /--tea[^]*Usage: npm start/)
})

test('--help tells how to use it and opens nothing', async (t) => {
  const file = path.join(tempFolder(t), 'x.db')
  await using gateway = startGateway(file, { args: ['--help'], input: '' })

  assert.equal((await gateway.exited).code, 0)
  assert.match(gateway.stdout, /Usage: npm start[^]*TELEGRAM_BOT_TOKEN/)
  assert(!existsSync(file))
})

test('a file of a newer Hermes is greeted, and why nobody can chat in it is told', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(path.join(import.meta.dirname, '../fixtures/v12.db'), file)
  await using gateway = startGateway(file, { input: 'hi\n' })

  assert.equal((await gateway.exited).code, 1)
  assert.match(gateway.stdout, /^A chat bot[^]*\(schema version 12\)/)
  assert.match(gateway.stderr, /schema version 12[^]*--db/)
  assert.doesNotMatch(gateway.stdout, /demo responder, no model/)
})

test('a file that is no session store is refused with exit code 1', async (t) => {
  const folder = tempFolder(t)
  await using gateway = startGateway(folder, { input: 'hi\n' })

  assert.equal((await gateway.exited).code, 1)
  assert.match(gateway.stderr, /\[store\] cannot open/)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} in the middle of an answer ends it cleanly, and the next start answers`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using model = await startFakeChatCompletions()
    model.reply = () => ({ content: 'too late', delayMs: 60_000 })
    const env = { OPENAI_BASE_URL: model.baseUrl }
    await using first = startGateway(file, { env })
    first.write('are you there?')
    await model.nextRequest()

    const exit = await first.kill(signal)
    model.reply = () => ({ content: 'I am.' })
    await using second = startGateway(file, { env, input: '' })
    await second.exited

    assert.deepEqual(exit, { code: 0, signal: null }, first.stderr)
    assert(!existsSync(`${file}-wal`))
    assert.deepEqual(chatLines(second), ['I am.'])
  })
}

/** A session of the file that has messages, and a word of one of them that only it has. */
async function oldSession(file: string): Promise<{ id: string; word: string }> {
  const copy = `${file}.copy`
  copyFileSync(file, copy)
  await using store = await openStore({ path: copy })
  for (const { id } of await store.sessions.list({ includeChildren: true })) {
    for (const { content, role } of await store.messages.list(id)) {
      if (role !== 'user' || typeof content !== 'string') continue
      for (const word of content.match(/[A-Za-z]{5,}/g) ?? []) {
        const hits = await store.search.messages(word)
        if (hits.length > 0 && hits.every(({ sessionId }) => sessionId === id)) return { id, word }
      }
    }
  }
  throw new Error('the fixture has no searchable session')
}

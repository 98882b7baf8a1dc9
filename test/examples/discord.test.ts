import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startFakeChatCompletions } from '../support/fake-chat-completions.ts'
import { startFakeDiscord, type FakeDiscord } from '../support/fake-discord.ts'
import { tempFolder } from '../support/temp-store.ts'
import { shortLease, startGateway } from './start-gateway.ts'

const ada = '900000000000000001'
const bob = '900000000000000002'

test('discord.js takes messages of guilds, threads and direct messages', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using gateway = startGateway(file, { env: discordEnv(discord), input: '' })
  await gateway.waitForOutput('serving')

  const asked = discord.pushMessage({ authorId: ada, content: 'the oak is old' })
  const first = await discord.nextSent()
  discord.pushMessage({ authorId: ada, content: 'how old is the oak?' })
  const second = await discord.nextSent()
  discord.pushMessage({ authorId: bob, content: 'hello' })
  const third = await discord.nextSent()
  const thread = discord.pushThread('side talk', ada)
  discord.pushMessage({ authorId: ada, authorName: 'Ada', content: 'one', channelId: thread.id })
  const inThread = await discord.nextSent()
  discord.pushMessage({ authorId: bob, content: 'two', channelId: thread.id })
  const shared = await discord.nextSent()
  discord.pushMessage({ authorId: ada, content: 'psst', dm: true })
  const direct = await discord.nextSent()
  const exit = await gateway.kill()

  assert.match(first.content, /remember here: 1\./)
  assert.deepEqual(
    (first.body as { message_reference: { message_id: string } }).message_reference.message_id,
    asked.id,
  )
  assert.match(second.content, /remember here: 3\.\nYou began with: "the oak is old"/)
  assert.match(third.content, /remember here: 1\./)
  assert.equal(inThread.channelId, thread.id)
  assert.match(shared.content, /You began with: "\[Ada\] one"/)
  assert.match(direct.content, /remember here: 1\./)
  assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
})

test('a gateway that cannot reach Discord when it starts serves it later', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  const { hostname, port } = new URL(discord.rest)
  let isDown = true
  const way = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    if (isDown) {
      socket.once('data', () => socket.end('HTTP/1.1 503 Down\r\nconnection: close\r\n\r\n'))
      return
    }
    const onward = connect(Number(port), hostname)
    onward.on('error', () => socket.destroy())
    socket.pipe(onward).pipe(socket)
  })
  way.listen(0, hostname)
  await once(way, 'listening')
  t.after(() => way.close())
  const apiRoot = `http://${hostname}:${(way.address() as AddressInfo).port}/api`
  const env = { ...discordEnv(discord), DISCORD_API_ROOT: apiRoot }
  await using gateway = startGateway(file, { env, input: '' })

  await gateway.waitForOutput(/\[discord\] cannot be reached, trying again in 1 s: /)
  isDown = false
  await gateway.waitForOutput('[discord] serving')
  discord.pushMessage({ authorId: ada, content: 'hello' })
  const { content } = await discord.nextSent()
  const exit = await gateway.kill()

  assert.match(content, /remember here: 1\./)
  assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
})

test('SIGTERM ends a gateway that cannot reach Discord yet', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  const env = { DISCORD_TOKEN: 'x', DISCORD_API_ROOT: 'http://127.0.0.1:1/api' }
  await using gateway = startGateway(file, { env })
  await gateway.waitForOutput(/\[discord\] cannot be reached/)

  const exit = await gateway.kill()

  assert.deepEqual(exit, { code: 0, signal: null }, gateway.stderr)
})

test('a refused Discord token ends the program with the reason', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  const env = { ...discordEnv(discord), DISCORD_TOKEN: 'wrong' }

  await using gateway = startGateway(file, { env })

  assert.equal((await gateway.exited).code, 1)
  assert.match(gateway.stderr, /\[gateway\] stopped: .*token/)
})

test('commands work typed and as slash commands, on the same session', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using gateway = startGateway(file, { env: discordEnv(discord) })
  await gateway.waitForOutput('serving')
  const registered = await discord.nextSent(({ kind }) => kind === 'commands')
  const typed = async (content: string) => {
    discord.pushMessage({ authorId: ada, content })
    return (await discord.nextSent()).content
  }
  const slash = async (name: string, text?: string) => {
    discord.pushCommand({ userId: ada, name, ...(text !== undefined && { options: { text } }) })
    return (await discord.nextSent()).content
  }

  await typed('the treasure is under the oak')
  assert.equal(await slash('title', 'Treasure'), 'Title: Treasure')
  assert.equal(await typed('/title'), 'Title: Treasure')
  assert.equal(await slash('new'), 'A new conversation.')
  assert.match(await slash('search', 'oak'), />>>oak<<</)
  assert.match(await slash('resume', 'Treasure'), /Back in Treasure, 2 messages\./)
  assert.match(await slash('usage'), /2 messages, 1 model call/)
  assert.match(await typed('/history'), /user: the treasure/)
  assert.match(await slash('help'), /\/resume/)
  await gateway.kill()

  assert.deepEqual(
    (registered.body as { name: string }[]).map(({ name }) => name),
    ['new', 'title', 'resume', 'branch', 'undo', 'search', 'usage', 'history', 'help'],
  )
})

test('a user cannot resume, list or find what somebody else said to the bot', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using gateway = startGateway(file, { env: discordEnv(discord) })
  await gateway.waitForOutput('serving')
  const typed = async (authorId: string, content: string) => {
    discord.pushMessage({ authorId, content, dm: true })
    return (await discord.nextSent()).content
  }

  await typed(ada, 'my secret is xyzzy')
  await typed(ada, '/title Secret')

  assert.match(await typed(bob, '/resume Secret'), /no such conversation here/)
  assert.equal(await typed(bob, '/search xyzzy'), 'Nothing found.')
  assert.equal(await typed(bob, '/resume'), 'There are no conversations yet.')
  assert.equal(await typed(bob, '/title Secret'), 'That title is taken. Nothing was changed.')
  await gateway.kill()
})

test('a long answer is sent in parts that Discord takes', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using model = await startFakeChatCompletions()
  const lines = Array.from({ length: 300 }, (_, n) => `line ${n} 🙂`)
  model.reply = () => ({ content: lines.join('\n') })
  await using gateway = startGateway(file, {
    env: { ...discordEnv(discord), OPENAI_BASE_URL: model.baseUrl },
  })
  await gateway.waitForOutput('serving')

  discord.pushMessage({ authorId: ada, content: 'count' })
  const parts = [await discord.nextSent(), await discord.nextSent()]
  await gateway.kill()

  assert.deepEqual(
    parts.flatMap(({ content }) => content.split('\n')).filter((line) => line !== ''),
    lines,
  )
})

test('what the gateway was killed over is answered by the next one, and a redelivery adds nothing', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using model = await startFakeChatCompletions()
  model.reply = () => ({ content: 'never', delayMs: 60_000 })
  const env = { ...discordEnv(discord), OPENAI_BASE_URL: model.baseUrl, ...shortLease }
  await using first = startGateway(file, { env })
  await first.waitForOutput('serving')
  const asked = discord.pushMessage({ authorId: ada, content: 'are you there?' })
  await model.nextRequest()

  await first.kill('SIGKILL')
  model.reply = () => ({ content: 'I am.' })
  await using second = startGateway(file, { env })
  const answer = await discord.nextSent()
  discord.redeliver(asked.id)
  discord.pushMessage({ authorId: ada, content: 'good' })
  await discord.nextSent()
  await second.kill()

  assert.equal(answer.content, 'I am.')
  await using store = await openStore({ path: file })
  const [session] = await store.sessions.list()
  const messages = await store.messages.list(session?.id ?? '')
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['are you there?', 'I am.', 'good', 'I am.'],
  )
})

function discordEnv(discord: FakeDiscord): Record<string, string> {
  return { DISCORD_TOKEN: discord.token, DISCORD_API_ROOT: discord.rest }
}

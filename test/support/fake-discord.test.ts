import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Client, Events, GatewayIntentBits, Partials } from 'discord.js'
import type { APIMessage, ChatInputCommandInteraction, ClientOptions, Message } from 'discord.js'
import { WebSocket } from 'ws'
import { Recorder } from './changes.ts'
import { startFakeDiscord } from './fake-discord.ts'
import type { FakeDiscord } from './fake-discord.ts'

const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits

test('discord.js logs in, gets a guild message and replies', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord)

  const pushed = discord.pushMessage({ authorId: '900000000000000001', content: 'hello' })
  const { message } = await bot.seen.next(isFrom(pushed.id))
  await message?.reply('hi')
  const sent = await discord.nextSent()
  const echo = await bot.seen.next(({ text }) => text === 'hi')

  assert.equal(message?.content, 'hello')
  assert.equal(message?.guildId, discord.guildId)
  assert(BigInt(pushed.id) > BigInt(Number.MAX_SAFE_INTEGER))
  assert.deepEqual([sent.channelId, sent.content], [discord.channelId, 'hi'])
  assert.equal((sent.result as APIMessage).message_reference?.message_id, pushed.id)
  assert.equal(echo.message?.author.id, discord.botId)
})

test('a direct message reaches discord.js and is answered in its channel', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord)

  const pushed = discord.pushMessage({ authorId: '900000000000000001', content: 'psst', dm: true })
  const { message } = await bot.seen.next(isFrom(pushed.id))
  await message?.reply('yes?')

  assert.equal(message?.channel.isDMBased(), true)
  assert.equal((await discord.nextSent()).channelId, pushed.channel_id)
})

test('edits, deletes and bulk deletes of messages arrive, cached or not', async () => {
  await using discord = await startFakeDiscord()
  const [old, cut, kept] = ['old', 'cut', 'kept'].map((content) =>
    discord.pushMessage({ authorId: '900000000000000001', content }),
  ) as [APIMessage, APIMessage, APIMessage]
  await using bot = await logIn(discord)

  discord.pushEdit(kept.id, 'changed')
  discord.pushDelete(old.id)
  discord.pushBulkDelete([cut.id, kept.id])
  await bot.seen.next(({ event }) => event === Events.MessageBulkDelete)

  assert.deepEqual(
    bot.seen.items.map(({ event, text }) => [event, text]),
    [
      [Events.MessageUpdate, 'changed'],
      [Events.MessageDelete, old.id],
      [Events.MessageBulkDelete, `${cut.id},${kept.id}`],
    ],
  )
})

test('messages in a new thread belong to the thread', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord)

  const thread = discord.pushThread('side talk', '900000000000000001')
  discord.pushMessage({ authorId: '900000000000000001', content: 'here', channelId: thread.id })
  const { message } = await bot.seen.next(({ text }) => text === 'here')

  assert(message !== undefined && message.channel.isThread())
  assert.equal(message.channel.parentId, discord.channelId)
})

test('a slash command is answered, at once or later, through its callback', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord)
  const author = { userId: '900000000000000001' }

  discord.pushCommand({ ...author, name: 'title', options: { text: 'Trip' } })
  const atOnce = await discord.nextSent()
  discord.pushCommand({ ...author, name: 'slow', dm: true })
  const later = await discord.nextSent()
  await bot.client.application?.commands.set([{ name: 'title', description: 'Names it' }])
  const registered = await discord.nextSent(({ kind }) => kind === 'commands')

  assert.deepEqual([atOnce.kind, atOnce.content], ['reply', 'title Trip'])
  assert.deepEqual([later.kind, later.content], ['reply', 'done'])
  assert.deepEqual((registered.body as { name: string }[])[0]?.name, 'title')
})

test('after a dropped connection the client resumes and gets what it missed', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord)
  const before = discord.pushMessage({ authorId: '900000000000000001', content: 'before' })
  await bot.seen.next(isFrom(before.id))
  bot.client.channels.cache.clear()

  discord.dropConnection({ replayLast: 1 })
  const missed = discord.pushMessage({
    authorId: '900000000000000001',
    content: 'missed',
    dm: true,
  })
  await discord.waitForResume()
  await bot.seen.next(isFrom(missed.id))

  assert.deepEqual(
    bot.seen.items.map(({ text }) => text),
    ['before', 'before', 'missed'],
  )
})

test('the bot edits, deletes, types, and meets refusals', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord)
  const channel = await bot.client.channels.fetch(discord.channelId)
  assert(channel?.isSendable())

  discord.failNext({ status: 403, code: 50013, message: 'Missing Permissions' })
  await channel.sendTyping()
  await assert.rejects(channel.send('refused'), { code: 50013 })
  const message = await channel.send({ content: 'one', nonce: 'n1', enforceNonce: true })
  const again = await channel.send({ content: 'one', nonce: 'n1', enforceNonce: true })
  await message.edit('two')
  await message.delete()
  await assert.rejects(channel.send(''), { code: 50006 })

  assert.equal(again.id, message.id)
  assert.deepEqual(
    discord.sent.map(({ kind }) => kind),
    ['typing', 'message', 'edit', 'delete'],
  )
})

test('a held post is carried out but never confirmed', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord, { rest: { timeout: 300, retries: 0 } })
  const channel = await bot.client.channels.fetch(discord.channelId)
  assert(channel?.isSendable())

  discord.holdNext()
  await assert.rejects(channel.send('dark'), { name: 'AbortError' })
  const echo = await bot.seen.next(({ text }) => text === 'dark')

  assert.equal(echo.message?.author.id, discord.botId)
})

test('a client with a wrong token is turned away by both sides', async () => {
  await using discord = await startFakeDiscord()
  const client = new Client({ intents: [Guilds], rest: { api: discord.rest } })

  await assert.rejects(client.login('wrong'), { code: 'TokenInvalid' })
  await client.destroy()
  const socket = new WebSocket(discord.rest.replace('http', 'ws'))
  const [hello] = (await once(socket, 'message')) as [Buffer]
  socket.send(JSON.stringify({ op: 1, d: null }))
  const [ack] = (await once(socket, 'message')) as [Buffer]
  socket.send(JSON.stringify({ op: 2, d: { token: 'wrong', intents: 0 } }))
  const [code] = (await once(socket, 'close')) as [number]

  assert.equal((JSON.parse(String(hello)) as { op: number }).op, 10)
  assert.equal((JSON.parse(String(ack)) as { op: number }).op, 11)
  assert.equal(code, 4004)
})

test('without the MessageContent intent guild messages come empty', async () => {
  await using discord = await startFakeDiscord()
  await using bot = await logIn(discord, { intents: [Guilds, GuildMessages] })

  const pushed = discord.pushMessage({ authorId: '900000000000000001', content: 'secret' })

  assert.equal((await bot.seen.next(isFrom(pushed.id))).text, '')
})

interface Seen {
  event: Events
  text: string
  message?: Message
}

function isFrom(id: string): (seen: Seen) => boolean {
  return ({ message }) => message?.id === id
}

async function answer(command: ChatInputCommandInteraction): Promise<void> {
  if (command.commandName === 'slow') {
    await command.deferReply()
    await command.editReply('done')
  } else {
    await command.reply(`title ${command.options.getString('text')}`)
  }
}

async function logIn(
  discord: FakeDiscord,
  options: Partial<ClientOptions> = {},
): Promise<AsyncDisposable & { client: Client; seen: Recorder<Seen> }> {
  const seen = new Recorder<Seen>()
  const partials = [Partials.Channel, Partials.Message]
  const client = new Client({
    intents: [Guilds, GuildMessages, DirectMessages, MessageContent],
    partials,
    ...options,
    rest: { api: discord.rest, ...options.rest },
  })
  client.on(Events.MessageCreate, (message) => {
    seen.add({ event: Events.MessageCreate, text: message.content, message })
  })
  client.on(Events.MessageUpdate, (_, { content }) => {
    seen.add({ event: Events.MessageUpdate, text: content })
  })
  client.on(Events.MessageDelete, ({ id }) => {
    seen.add({ event: Events.MessageDelete, text: id })
  })
  client.on(Events.MessageBulkDelete, (messages) => {
    seen.add({ event: Events.MessageBulkDelete, text: [...messages.keys()].join() })
  })
  client.on(Events.InteractionCreate, (interaction) => {
    if (interaction.isChatInputCommand()) void answer(interaction)
  })
  const ready = once(client, Events.ClientReady)
  await client.login(discord.token)
  await discord.waitForClient()
  await ready
  return {
    client,
    seen,
    [Symbol.asyncDispose]: () => client.destroy(),
  }
}

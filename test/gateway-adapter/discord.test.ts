import assert from 'node:assert/strict'
import test from 'node:test'
import type { Interaction, Message, PartialMessage } from 'discord.js'
import {
  discordInbound,
  discordInteractionSource,
  discordSource,
} from '../../src/gateway-adapter/discord.ts'
import type {
  DiscordInteraction,
  DiscordMessage,
} from '../../src/gateway-adapter/discord-message.ts'
import { sessionKey } from '../../src/gateway-adapter/session-key.ts'
import { annId, annUser, DiscordEvents, sentAt } from './discord-events.ts'

// Checked by the compiler: what discord.js hands to its listeners is what the translator takes.
export const acceptsMessages = (message: Message | PartialMessage): DiscordMessage => message
export const acceptsInteractions = (interaction: Interaction): DiscordInteraction => interaction

const discord = new DiscordEvents()

test('a message in a guild channel is a group message under the nickname', () => {
  const message = discord.message()

  const inbound = discordInbound(message, { botId: '999' })

  assert.deepEqual(inbound, {
    kind: 'message',
    source: {
      platform: 'discord',
      account: '999',
      chatType: 'group',
      chatId: '500',
      chatName: 'general',
      guildId: '1',
      userId: annId,
      userName: 'Annie',
      messageId: message.id,
      isBot: false,
    },
    text: 'hello',
    at: sentAt,
    messageId: message.id,
    replyToMessageId: undefined,
    senderName: 'Annie',
    attachments: [],
  })
})

test('a direct message is a DM under the display name', () => {
  const source = discordSource(discord.directMessage())

  assert.equal(source.chatType, 'dm')
  assert.equal(source.userName, 'Ann')
  assert.equal(source.guildId, undefined)
  assert.equal(sessionKey(source), 'agent:main:discord:dm:888')
})

test('a thread is chat and thread in one, under its channel', () => {
  const source = discordSource(discord.message({ channel_id: '600' }))

  assert.equal(source.parentChatId, '500')
  assert.equal(source.chatName, 'plans')
  assert.equal(sessionKey(source), 'agent:main:discord:thread:600:600')
})

test('a reply names the message it answers', () => {
  const reference = { type: 0, channel_id: '500', guild_id: '1', message_id: '900' }

  const inbound = discordInbound(discord.message({ type: 19, message_reference: reference }))

  assert.ok(inbound.kind === 'message')
  assert.equal(inbound.replyToMessageId, '900')
})

test('a forward is its snapshot and no reply', () => {
  const forward = {
    content: '',
    message_reference: { type: 1, channel_id: '500', guild_id: '1', message_id: '900' },
    message_snapshots: [
      { message: { type: 0, content: 'look at this', attachments: [], embeds: [], mentions: [] } },
    ],
  }

  const inbound = discordInbound(discord.message(forward))

  assert.ok(inbound.kind === 'message')
  assert.equal(inbound.text, 'look at this')
  assert.equal(inbound.replyToMessageId, undefined)
})

test('attachments and stickers come with empty text', () => {
  const file = { id: '70', filename: 'cat.png', size: 9, url: 'https://cdn/cat.png', proxy_url: '' }
  const files = [
    { ...file, content_type: 'image/png' },
    { ...file, id: '71', content_type: 'audio/ogg', waveform: 'AAA=' },
    { ...file, id: '72', content_type: 'audio/mpeg' },
    { ...file, id: '73' },
  ]
  const stickers = [{ id: '80', name: 'Wave', format_type: 1 }]

  const inbound = discordInbound(
    discord.message({ content: '', attachments: files, sticker_items: stickers }),
  )

  assert.ok(inbound.kind === 'message')
  assert.equal(inbound.text, '')
  assert.deepEqual(
    inbound.attachments.map(({ kind, id }) => [kind, id]),
    [
      ['image', '70'],
      ['voice', '71'],
      ['audio', '72'],
      ['file', '73'],
      ['sticker', '80'],
    ],
  )
  assert.deepEqual(inbound.attachments[0], {
    kind: 'image',
    id: '70',
    name: 'cat.png',
    mimeType: 'image/png',
    sizeBytes: 9,
    url: 'https://cdn/cat.png',
  })
})

test('a message with an edit time is an edit, one with only new embeds is not', () => {
  const edited = discordInbound(
    discord.message({ content: 'hello!', edited_timestamp: '2024-01-01T00:01:00Z' }),
  )
  const unfurled = discordInbound(discord.message({ embeds: [{ type: 'link', url: 'https://x' }] }))

  assert.ok(edited.kind === 'edited')
  assert.equal(edited.text, 'hello!')
  assert.equal(edited.at, 1_704_067_260)
  assert.equal(unfurled.kind, 'message')
})

test('what is no message of a person is ignored, with the reason', () => {
  const reasonOf = (message: DiscordMessage) => {
    const inbound = discordInbound(message, { botId: '999' })
    return inbound.kind === 'ignored' ? inbound.reason : inbound
  }
  const byBot = (id: string) => discord.message({ author: { ...annUser, id, bot: true } })

  assert.equal(reasonOf(byBot('999')), 'own message')
  assert.equal(reasonOf(byBot('998')), 'bot message')
  assert.equal(reasonOf(discord.message({ webhook_id: '44' })), 'bot message')
  assert.equal(reasonOf(discord.message({ type: 6 })), 'service message')
  assert.equal(reasonOf(discord.uncachedMessage()), 'partial message')
})

test('a bot is marked in the source', () => {
  assert.equal(
    discordSource(discord.message({ author: { ...annUser, id: '998', bot: true } })).isBot,
    true,
  )
  assert.equal(discordSource(discord.message({ webhook_id: '44' })).isBot, true)
})

test('a slash command acts where the messages of its user go', () => {
  const inChannel = discordInteractionSource(discord.command(), { botId: '999' })
  const inThread = discordInteractionSource(discord.command({ channel: { id: '600', type: 11 } }))

  assert.equal(inChannel.userName, 'Annie')
  assert.equal(inChannel.account, '999')
  assert.equal(inChannel.messageId, '2000')
  assert.equal(sessionKey(inChannel), sessionKey(discordSource(discord.message())))
  assert.equal(
    sessionKey(inThread),
    sessionKey(discordSource(discord.message({ channel_id: '600' }))),
  )
})

test('a slash command in a DM acts on the DM, in a conversation of others on the user alone', () => {
  const outside = { guild_id: undefined, member: undefined, user: annUser }
  const inDm = discord.command({ ...outside, channel: { id: '888', type: 1 }, context: 1 })
  const among = discord.command({ ...outside, channel: { id: '777', type: 3 }, context: 2 })

  assert.equal(sessionKey(discordInteractionSource(inDm)), 'agent:main:discord:dm:888')
  assert.equal(sessionKey(discordInteractionSource(among)), `agent:main:discord:group:777:${annId}`)
})

test('a slash command in a guild without the bot has the nickname and a group', () => {
  const elsewhere = discord.command({ guild_id: '2', channel: { id: '222', type: 0 } })

  const source = discordInteractionSource(elsewhere)

  assert.equal(source.userName, 'Annie')
  assert.equal(sessionKey(source), `agent:main:discord:group:222:${annId}`)
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { Bot } from 'grammy'
import type { Update } from 'grammy/types'
import { InvalidInputError } from '../../src/errors.ts'
import { sessionKey } from '../../src/gateway-adapter/session-key.ts'
import { telegramInbound, telegramSource } from '../../src/gateway-adapter/telegram.ts'
import type { TelegramMessage, TelegramUpdate } from '../../src/gateway-adapter/telegram-update.ts'

const ann = { id: 12345, is_bot: false, first_name: 'Ann', last_name: 'Lee', language_code: 'en' }
const dm = { id: 12345, type: 'private', first_name: 'Ann', last_name: 'Lee', username: 'ann' }
const group = { id: -200, type: 'group', title: 'Family', all_members_are_administrators: true }
const supergroup = { id: -1001234567890, type: 'supergroup', title: 'Team' }
const forum = { ...supergroup, title: 'Forum', is_forum: true }
const channel = { id: -1003000000000, type: 'channel', title: 'News', username: 'news' }
const anonymous = {
  id: 1087968824,
  is_bot: true,
  first_name: 'Group',
  username: 'GroupAnonymousBot',
}
const channelBot = { id: 136817688, is_bot: true, first_name: 'Channel', username: 'Channel_Bot' }

const base = { message_id: 55, from: ann, chat: dm, date: 1_700_000_000 }
const message = (fields: Partial<TelegramMessage>): TelegramUpdate => ({
  update_id: 1,
  message: { ...base, ...fields },
})
const keyOf = (update: TelegramUpdate) => {
  const source = telegramSource(update)
  assert.ok(source)
  return sessionKey(source)
}

test('a private message is a DM with its sender, text and time', () => {
  const inbound = telegramInbound(message({ text: 'hello' }), { botId: 999 })

  assert.deepEqual(inbound, {
    kind: 'message',
    source: {
      platform: 'telegram',
      account: '999',
      chatType: 'dm',
      chatId: '12345',
      chatName: 'Ann Lee',
      userId: '12345',
      userName: 'Ann Lee',
      messageId: '55',
      isBot: false,
    },
    text: 'hello',
    at: 1_700_000_000,
    messageId: '55',
    replyToMessageId: undefined,
    senderName: 'Ann Lee',
    attachments: [],
  })
})

test('a private message without sender belongs to the chat', () => {
  const source = telegramSource(message({ from: undefined, text: 'x' }))

  assert.equal(source?.userId, '12345')
  assert.equal(source?.userName, 'Ann Lee')
})

test('private messages keep the thread only when it is a topic', () => {
  const topic = { message_thread_id: 77, text: 'x' }

  assert.equal(
    keyOf(message({ ...topic, is_topic_message: true })),
    'agent:main:telegram:dm:12345:77',
  )
  assert.equal(keyOf(message(topic)), 'agent:main:telegram:dm:12345')
})

test('groups and supergroups are one type, and reply threads are no threads', () => {
  assert.equal(keyOf(message({ chat: group, text: 'x' })), 'agent:main:telegram:group:-200:12345')
  assert.equal(
    keyOf(message({ chat: supergroup, message_thread_id: 9, text: 'x' })),
    'agent:main:telegram:group:-1001234567890:12345',
  )
})

test('forum messages belong to their topic, General being topic 1', () => {
  const inTopic = { chat: forum, message_thread_id: 42, text: 'x' }

  assert.equal(
    keyOf(message({ ...inTopic, is_topic_message: true })),
    'agent:main:telegram:group:-1001234567890:42',
  )
  assert.equal(keyOf(message(inTopic)), 'agent:main:telegram:group:-1001234567890:42')
  assert.equal(
    keyOf(message({ chat: forum, text: 'x' })),
    'agent:main:telegram:group:-1001234567890:1',
  )
  assert.equal(
    keyOf(message({ ...inTopic, chat: supergroup, is_topic_message: true })),
    'agent:main:telegram:group:-1001234567890:42',
  )
})

test('a channel post has no user, and its signature is the sender name', () => {
  const post = {
    message_id: 8,
    chat: channel,
    sender_chat: channel,
    date: 1_700_000_000,
    text: 'news',
  }

  const inbound = telegramInbound({
    update_id: 1,
    channel_post: { ...post, author_signature: 'Ed' },
  })

  assert.ok(inbound.kind === 'message')
  assert.equal(inbound.senderName, 'Ed')
  assert.equal(inbound.source.userId, undefined)
  assert.equal(sessionKey(inbound.source), 'agent:main:telegram:channel:-1003000000000')
})

test('people behind a stand-in user are told apart by the chat they write as', () => {
  const asGroup = message({ from: anonymous, sender_chat: supergroup, chat: supergroup, text: 'x' })
  const asChannel = message({ from: channelBot, sender_chat: channel, chat: supergroup, text: 'x' })

  const [byGroup, byChannel] = [telegramInbound(asGroup), telegramInbound(asChannel)]

  assert.ok(byGroup.kind === 'message' && byChannel.kind === 'message')
  assert.equal(byGroup.source.userId, '-1001234567890')
  assert.equal(byGroup.senderName, 'Team')
  assert.equal(byChannel.source.userId, '-1003000000000')
  assert.equal(byChannel.senderName, 'News')
  assert.equal(byChannel.source.isBot, false)
})

test('an edit carries the new text and the time of the edit', () => {
  const edited = { ...base, text: 'hello!', edit_date: 1_700_000_060 }
  const { from: _, ...post } = edited

  const byPerson = telegramInbound({ update_id: 1, edited_message: edited })
  const inChannel = telegramInbound({
    update_id: 1,
    edited_channel_post: { ...post, chat: channel },
  })

  for (const inbound of [byPerson, inChannel]) {
    assert.ok(inbound.kind === 'edited')
    assert.equal(inbound.text, 'hello!')
    assert.equal(inbound.at, 1_700_000_060)
    assert.equal(inbound.messageId, '55')
  }
})

test('a caption is the text of its media, and media alone has none', () => {
  const photo = [
    { file_id: 'small', file_unique_id: 's', width: 90, height: 90, file_size: 1000 },
    { file_id: 'large', file_unique_id: 'l', width: 900, height: 900, file_size: 90_000 },
  ]

  const captioned = telegramInbound(message({ photo, caption: 'our cat' }))
  const bare = telegramInbound(message({ photo }))

  assert.ok(captioned.kind === 'message' && bare.kind === 'message')
  assert.equal(captioned.text, 'our cat')
  assert.equal(bare.text, '')
  assert.deepEqual(bare.attachments, [{ kind: 'image', id: 'large', sizeBytes: 90_000 }])
})

test('every kind of media is one attachment', () => {
  const file = { file_id: 'f', file_name: 'a.bin', mime_type: 'x/y', file_size: 3 }
  const media: [Partial<TelegramMessage>, kind: string][] = [
    [{ document: file }, 'file'],
    [{ animation: file, document: file }, 'video'],
    [{ video: file }, 'video'],
    [{ video_note: file }, 'video'],
    [{ voice: file }, 'voice'],
    [{ audio: file }, 'audio'],
    [{ sticker: file }, 'sticker'],
    [{ location: { latitude: 1, longitude: 2 } }, 'location'],
    [{ venue: { title: 'Bar' }, location: { latitude: 1, longitude: 2 } }, 'location'],
    [{ contact: { phone_number: '1', first_name: 'Bo' } }, 'contact'],
    [{ poll: { id: '1' } }, 'poll'],
    [{ dice: { emoji: '🎲', value: 3 } }, 'other'],
  ]
  for (const [fields, kind] of media) {
    const inbound = telegramInbound(message(fields))

    assert.ok(inbound.kind === 'message')
    assert.deepEqual(
      inbound.attachments.map((attachment) => attachment.kind),
      [kind],
    )
  }
  const inbound = telegramInbound(message({ document: file }))
  assert.ok(inbound.kind === 'message')
  assert.deepEqual(inbound.attachments, [
    { kind: 'file', id: 'f', name: 'a.bin', mimeType: 'x/y', sizeBytes: 3 },
  ])
})

test('a reply names the message it answers, the opening of a topic is no such message', () => {
  const inTopic = { chat: forum, message_thread_id: 42, is_topic_message: true, text: 'x' }
  const replyOf = (fields: Partial<TelegramMessage>) => {
    const inbound = telegramInbound(message(fields))
    return inbound.kind === 'message' ? inbound.replyToMessageId : inbound
  }

  assert.equal(replyOf({ text: 'x', reply_to_message: { message_id: 50 } }), '50')
  assert.equal(replyOf({ ...inTopic, reply_to_message: { message_id: 42 } }), undefined)
  assert.equal(replyOf({ ...inTopic, reply_to_message: { message_id: 43 } }), '43')
})

test('both announcements of a migration say the same', () => {
  const migrated = { kind: 'migrated', fromChatId: '-200', toChatId: '-1001234567890' }
  const { text: _, ...rest } = { ...base, text: '' }

  assert.deepEqual(
    telegramInbound({
      update_id: 1,
      message: { ...rest, chat: group, migrate_to_chat_id: supergroup.id },
    }),
    migrated,
  )
  assert.deepEqual(
    telegramInbound({
      update_id: 2,
      message: {
        ...rest,
        chat: supergroup,
        from: anonymous,
        sender_chat: supergroup,
        migrate_from_chat_id: group.id,
      },
    }),
    migrated,
  )
})

test('what is no message of a person is ignored, with the reason', () => {
  const bot = { id: 999, is_bot: true, first_name: 'Bot' }
  const reasonOf = (update: TelegramUpdate) => {
    const inbound = telegramInbound(update, { botId: '999' })
    return inbound.kind === 'ignored' ? inbound.reason : inbound
  }

  assert.equal(reasonOf(message({ from: bot, chat: group, text: 'x' })), 'own message')
  assert.equal(
    reasonOf(message({ from: { ...bot, id: 1 }, chat: group, text: 'x' })),
    'bot message',
  )
  assert.equal(reasonOf(message({ chat: group })), 'service message')
  assert.equal(reasonOf(message({ message_id: 0, chat: supergroup, text: 'x' })), 'no message id')
  assert.equal(reasonOf({ update_id: 1 }), 'unsupported update')
  assert.equal(telegramSource({ update_id: 1 }), undefined)
})

test('an id that has lost digits is refused', () => {
  const update = message({ chat: { ...group, id: -(2 ** 60) }, text: 'x' })

  assert.throws(() => telegramInbound(update), InvalidInputError)
})

test('ctx.update of grammY is taken as it is', async () => {
  const bot = new Bot('1:token', {
    botInfo: { id: 999, is_bot: true, first_name: 'Bot', username: 'my_bot' } as Bot['botInfo'],
  })
  const seen: unknown[] = []
  bot.use((ctx) => {
    seen.push(telegramInbound(ctx.update, { botId: ctx.me.id }).kind)
  })
  const update = { update_id: 1, message: { ...base, text: 'hello' } } as Update

  await bot.handleUpdate(update)

  assert.deepEqual(seen, ['message'])
})

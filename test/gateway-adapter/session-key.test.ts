import assert from 'node:assert/strict'
import test from 'node:test'
import type { ChatSourceInput } from '../../src/gateway-adapter/chat-source.ts'
import {
  canonicalWhatsAppId,
  isSharedSession,
  routeParts,
  sessionKey,
  type SessionKeyOptions,
} from '../../src/gateway-adapter/session-key.ts'

const telegramGroup = { platform: 'telegram', chatType: 'group', chatId: '-100200', userId: '7' }
const topic = { ...telegramGroup, threadId: '42' }
const discordThread = {
  platform: 'discord',
  chatType: 'thread',
  chatId: '600',
  threadId: '600',
  userId: '7',
}

/** The table of gateways.md §2.1; its keys were computed with Hermes' own function. */
const rows: [
  situation: string,
  source: ChatSourceInput,
  options: SessionKeyOptions,
  key: string,
][] = [
  [
    'Telegram DM',
    { platform: 'telegram', chatType: 'dm', chatId: '12345', userId: '12345' },
    {},
    'agent:main:telegram:dm:12345',
  ],
  [
    'Telegram DM topic',
    { platform: 'telegram', chatType: 'dm', chatId: '12345', threadId: '77', userId: '12345' },
    {},
    'agent:main:telegram:dm:12345:77',
  ],
  ['Telegram group', telegramGroup, {}, 'agent:main:telegram:group:-100200:7'],
  [
    'Telegram group, shared',
    telegramGroup,
    { groupSessionsPerUser: false },
    'agent:main:telegram:group:-100200',
  ],
  ['Telegram forum topic', topic, {}, 'agent:main:telegram:group:-100200:42'],
  [
    'Telegram forum topic, per user',
    topic,
    { threadSessionsPerUser: true },
    'agent:main:telegram:group:-100200:42:7',
  ],
  [
    'Telegram forum topic, thread per user but group shared',
    topic,
    { threadSessionsPerUser: true, groupSessionsPerUser: false },
    'agent:main:telegram:group:-100200:42',
  ],
  [
    'Telegram forum, General',
    { ...telegramGroup, threadId: '1' },
    {},
    'agent:main:telegram:group:-100200:1',
  ],
  [
    'Telegram channel post',
    { platform: 'telegram', chatType: 'channel', chatId: '-100300' },
    {},
    'agent:main:telegram:channel:-100300',
  ],
  [
    'Discord DM',
    { platform: 'discord', chatType: 'dm', chatId: '888', userId: '7' },
    {},
    'agent:main:discord:dm:888',
  ],
  [
    'Discord channel',
    { platform: 'discord', chatType: 'group', chatId: '500', userId: '7' },
    {},
    'agent:main:discord:group:500:7',
  ],
  ['Discord thread', discordThread, {}, 'agent:main:discord:thread:600:600'],
  [
    'Discord thread, per user',
    discordThread,
    { threadSessionsPerUser: true },
    'agent:main:discord:thread:600:600:7',
  ],
  [
    'Slack thread',
    { platform: 'slack', chatType: 'group', chatId: 'C1', threadId: '1700.1', userId: 'U1' },
    {},
    'agent:main:slack:group:C1:1700.1',
  ],
  [
    'Signal group, alternative id',
    { platform: 'signal', chatType: 'group', chatId: 'g1', userId: '+491', userIdAlt: 'uuid-1' },
    {},
    'agent:main:signal:group:g1:uuid-1',
  ],
  [
    'WhatsApp DM',
    { platform: 'whatsapp', chatType: 'dm', chatId: '15551234567@s.whatsapp.net' },
    {},
    'agent:main:whatsapp:dm:15551234567',
  ],
  [
    'WhatsApp group',
    {
      platform: 'whatsapp',
      chatType: 'group',
      chatId: '120363@g.us',
      userId: '15551234567:12@s.whatsapp.net',
    },
    {},
    'agent:main:whatsapp:group:120363@g.us:15551234567',
  ],
  [
    'Matrix room, no user',
    { platform: 'matrix', chatType: 'group', chatId: '!r:hs' },
    {},
    'agent:main:matrix:group:!r:hs',
  ],
  // The rules beside the table.
  [
    'DM with a thread but no chat',
    { platform: 'slack', chatType: 'dm', threadId: 't', userId: 'U1' },
    {},
    'agent:main:slack:dm:t',
  ],
  [
    'DM with nothing',
    { platform: 'local', chatType: 'dm', userId: 'U1' },
    {},
    'agent:main:local:dm',
  ],
]

for (const [situation, source, options, key] of rows) {
  test(`the key of a ${situation} is ${key}`, () => {
    assert.equal(sessionKey(source, options), key)
  })
}

test('the account is in the route and not in the key', () => {
  const [one, two] = [
    { ...telegramGroup, account: 'bot1' },
    { ...telegramGroup, account: 'bot2' },
  ]

  assert.equal(sessionKey(one), sessionKey(two))
  assert.notDeepEqual(routeParts(one), routeParts(two))
})

test('topic 42 and user 42 share a key but not a route', () => {
  const user42 = { ...telegramGroup, userId: '42' }

  assert.equal(sessionKey(topic), sessionKey(user42))
  assert.notDeepEqual(routeParts(topic), routeParts(user42))
})

test('a colon in an id shares a key but not a route', () => {
  const room = { platform: 'matrix', chatType: 'group', chatId: '!r:hs', userId: 'a' }
  const other = { platform: 'matrix', chatType: 'group', chatId: '!r', userId: 'hs:a' }

  assert.equal(sessionKey(room), sessionKey(other))
  assert.notDeepEqual(routeParts(room), routeParts(other))
})

test('the route names the user only when the session is theirs alone', () => {
  assert.deepEqual(routeParts(telegramGroup), {
    platform: 'telegram',
    account: '',
    chatType: 'group',
    chatId: '-100200',
    threadId: '',
    userId: '7',
  })
  assert.equal(routeParts(topic).userId, '')
  assert.equal(routeParts({ ...telegramGroup, chatType: 'dm' }).userId, '')
})

test('direct messages without a chat id are routed by user, though their v11 key is one for all', () => {
  const [ann, ben] = [
    { platform: 'sms', chatType: 'dm', userId: 'ann' },
    { platform: 'sms', chatType: 'dm', userId: 'ben' },
  ]

  assert.equal(sessionKey(ann), sessionKey(ben))
  assert.notDeepEqual(routeParts(ann), routeParts(ben))
})

test('a session is shared when several people write into it', () => {
  assert.equal(isSharedSession({ ...telegramGroup, chatType: 'dm' }), false)
  assert.equal(isSharedSession(telegramGroup), false)
  assert.equal(isSharedSession(telegramGroup, { groupSessionsPerUser: false }), true)
  assert.equal(isSharedSession(topic), true)
  assert.equal(isSharedSession(topic, { threadSessionsPerUser: true }), false)
  // v11 calls this one unshared, although its key has no user.
  const threadOnly = { threadSessionsPerUser: true, groupSessionsPerUser: false }
  assert.equal(isSharedSession(topic, threadOnly), true)
  assert.equal(isSharedSession({ platform: 'telegram', chatType: 'channel', chatId: '-1' }), true)
})

test('a WhatsApp account has one id however it is written', () => {
  for (const id of [
    '15551234567',
    '+15551234567',
    ' 15551234567@s.whatsapp.net ',
    '15551234567:12@s.whatsapp.net',
    '15551234567@lid:3',
  ]) {
    assert.equal(canonicalWhatsAppId(id), '15551234567')
  }
})

test('the shortest, then smallest WhatsApp alias is the canonical one', () => {
  const asked: string[] = []
  const expandWhatsAppAlias = (id: string) => {
    asked.push(id)
    return ['999@lid', '+123:4@s.whatsapp.net', '@', '1234']
  }
  const dm = { platform: 'whatsapp', chatType: 'dm', chatId: '55555:1@lid' }

  assert.equal(sessionKey(dm, { expandWhatsAppAlias }), 'agent:main:whatsapp:dm:123')
  assert.deepEqual(asked, ['55555'])
})

test('WhatsApp ids that are nothing but decoration stay apart', () => {
  assert.equal(canonicalWhatsAppId('@a'), '@a')
  assert.equal(canonicalWhatsAppId('@b'), '@b')
  assert.equal(canonicalWhatsAppId(''), '')
})

test('group chat ids of WhatsApp are left as they are', () => {
  const group = { platform: 'whatsapp', chatType: 'group', chatId: '+120363:1@g.us', userId: '7' }

  assert.equal(routeParts(group).chatId, '+120363:1@g.us')
})

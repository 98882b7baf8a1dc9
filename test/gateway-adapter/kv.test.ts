import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { conversations, createConversation, type Conversation } from '@grammyjs/conversations'
import type { ConversationFlavor, VersionedStateStorage } from '@grammyjs/conversations'
import { Bot, session } from 'grammy'
import type { Context, SessionFlavor, StorageAdapter, Transformer } from 'grammy'
import type { Update, UserFromGetMe } from 'grammy/types'
import { Telegraf, session as telegrafSession, type Context as TelegrafContext } from 'telegraf'
import type { SessionStore } from 'telegraf'

import { grammyStorage, telegrafSessionStore } from '../../src/gateway-adapter/kv.ts'
import { openStore } from '../../src/index.ts'
import { startFakeBotApi } from '../support/fake-bot-api.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'
import { all } from './faces.ts'

interface Counter {
  count: number
}

const me = {
  id: 4242,
  is_bot: true,
  first_name: 'Bot',
  username: 'bot',
  can_join_groups: true,
  can_read_all_group_messages: true,
  supports_inline_queries: false,
} as UserFromGetMe

let updates = 0

function textUpdate(text: string, chatId = 9007199254740991): Update {
  updates += 1
  return {
    update_id: updates,
    message: {
      message_id: updates,
      date: 1,
      chat: { id: chatId, type: 'private', first_name: 'Ada' },
      from: { id: chatId, is_bot: false, first_name: 'Ada' },
      text,
    },
  }
}

/** Stands for the network; `replies` has what was said. */
function recordInto(replies: string[]): Transformer {
  return async (_previous, method, payload) => {
    if (method === 'sendMessage' && 'text' in payload) replies.push(payload.text)
    return { ok: true, result: true } as never
  }
}

// Checked by the compiler: each face is what the library declares.
type Faces = [
  StorageAdapter<Counter>,
  VersionedStateStorage<string, Counter>,
  SessionStore<Counter>,
]
const faces = (
  grammy: ReturnType<typeof grammyStorage<Counter>>,
  conversation: ReturnType<typeof grammyStorage<{ version: [0, string | number]; state: Counter }>>,
  telegraf: ReturnType<typeof telegrafSessionStore<Counter>>,
): Faces => [grammy, conversation, telegraf]
void faces

test("grammY's session lives on when the file is opened anew", async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  const replies: string[] = []
  for (const text of ['one', 'two', 'three']) {
    await using store = await openStore({ path: file })
    const bot = new Bot<Context & SessionFlavor<Counter>>('1:x', { botInfo: me })
    bot.api.config.use(recordInto(replies))
    const storage = grammyStorage<Counter>(store, { namespace: 'session' })
    bot.use(session({ initial: () => ({ count: 0 }), storage }))
    bot.on('message:text', async (ctx) => {
      ctx.session.count += 1
      await ctx.reply(`${ctx.session.count}: ${ctx.msg.text}`)
    })

    await bot.handleUpdate(textUpdate(text))
  }

  assert.deepEqual(replies, ['1: one', '2: two', '3: three'])
})

test("grammY's session is deleted when a handler sets it to null", async (t) => {
  const store = await openTempStore(t)
  const storage = grammyStorage<Counter | null>(store, { namespace: 'session' })
  await storage.write('9', { count: 3 })
  const bot = new Bot<Context & SessionFlavor<Counter | null>>('1:x', { botInfo: me })
  bot.use(session({ initial: () => null, storage }))
  bot.on('message', (ctx) => void (ctx.session = null))

  await bot.handleUpdate(textUpdate('bye', 9))

  assert.equal(await storage.has('9'), false)
  assert.equal(await storage.read('9'), undefined)
})

test("grammY's conversations plugin goes on where it stood when the file was closed", async (t) => {
  type BotContext = ConversationFlavor<Context>
  async function interview(conversation: Conversation<BotContext>, ctx: Context): Promise<void> {
    await ctx.reply('Name?')
    const name = await conversation.form.text()
    await ctx.reply('Age?')
    const age = await conversation.form.int()
    await ctx.reply(`${name} is ${age}`)
  }
  await using api = await startFakeBotApi()
  const file = path.join(tempFolder(t), 'state.db')
  for (const text of ['begin', 'Ada', '36']) {
    await using store = await openStore({ path: file })
    const { apiRoot } = api
    const bot = new Bot<BotContext>(api.token, { botInfo: me, client: { apiRoot } })
    bot.use(conversations({ storage: grammyStorage(store, { namespace: 'conversations' }) }))
    bot.use(createConversation(interview))
    bot.hears('begin', (ctx) => ctx.conversation.enter('interview'))

    await bot.handleUpdate(api.pushMessage({ chatId: 9, userId: 9, text }))
  }

  const said = api.sent.map(({ payload }) => payload['text'])
  assert.deepEqual(said, ['Name?', 'Age?', 'Ada is 36'])
})

test('grammY finds all keys, values and entries, and none of another namespace', async (t) => {
  const store = await openTempStore(t)
  const storage = grammyStorage<number>(store, { namespace: 'a' })
  const other = grammyStorage<number>(store, { namespace: 'b' })
  const keys = Array.from({ length: 250 }, (_, index) => `key:${index} 🗝`)
  await Promise.all(keys.map((key, index) => storage.write(key, index)))
  await storage.write('', -1)
  await other.write('key:0 🗝', 99)

  const entries = await all(storage.readAllEntries())

  const expected = new Map([['', -1], ...keys.map((key, index) => [key, index] as const)])
  assert.equal(entries.length, 251)
  assert.deepEqual(new Map(entries), expected)
  assert.deepEqual(new Set(await all(storage.readAllKeys())), new Set(expected.keys()))
  assert.deepEqual(
    (await all(storage.readAllValues())).sort((a, b) => a - b),
    [...expected.values()].sort((a, b) => a - b),
  )
})

test("Telegraf's session lives on when the file is opened anew, and goes when it is emptied", async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  const seen: unknown[] = []
  for (const text of ['add', 'add', 'drop', 'add']) {
    await using store = await openStore({ path: file })
    type BotContext = TelegrafContext & { session?: Counter | undefined }
    const bot = new Telegraf<BotContext>('1:x')
    bot.botInfo = { ...me, can_connect_to_business: false } as NonNullable<typeof bot.botInfo>
    bot.use(telegrafSession({ store: telegrafSessionStore<Counter>(store, { namespace: 'tg' }) }))
    bot.on('message', (ctx) => {
      ctx.session = text === 'drop' ? undefined : { count: (ctx.session?.count ?? 0) + 1 }
      seen.push(ctx.session)
    })

    await bot.handleUpdate(textUpdate(text) as Parameters<typeof bot.handleUpdate>[0])
  }

  assert.deepEqual(seen, [{ count: 1 }, { count: 2 }, undefined, { count: 1 }])
})

import assert from 'node:assert/strict'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'

import { openStore, type Store } from '../../src/index.ts'
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { startNode } from '../support/child.ts'
import { startFakeBotApi } from '../support/fake-bot-api.ts'
import { startFakeDiscord } from '../support/fake-discord.ts'
import { tempFolder } from '../support/temp-store.ts'

const script = path.join(import.meta.dirname, 'dying-gateway.ts')
const ada = { chatId: 12345, userId: 12345, firstName: 'Ada' }
const warning = '(I was interrupted. You may have got this already.)'

const steps = {
  claimed: ['re: hello'],
  'asking the model': ['re: hello'],
  'answered by the model': ['re: hello'],
  // Telegram cannot tell whether it has got a message, so neither can the gateway.
  recorded: [warning, 're: hello'],
  sent: ['re: hello', warning, 're: hello'],
  'marked as delivered': ['re: hello'],
} as const

for (const [step, expected] of Object.entries(steps)) {
  test(`Telegram: killed when a message is ${step}, the gateway loses and doubles nothing`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using telegram = await startFakeBotApi()
    const env = { TELEGRAM_BOT_TOKEN: telegram.token, TELEGRAM_API_ROOT: telegram.apiRoot }
    await using first = startNode(script, [file, step], { env })
    const update = telegram.pushMessage({ ...ada, text: 'hello' })
    const exit = await first.exited

    telegram.redeliver(update.update_id)
    await using second = startNode(script, [file], { env })
    await telegram.waitForAck(update.update_id)
    await using store = await openStore({ path: file })
    await everythingDone(store, { platform: 'telegram', account: String(telegram.me.id) })
    await second.kill()

    assert.equal(exit.signal, 'SIGKILL')
    assert.deepEqual(
      telegram.sent
        .filter(({ method }) => method === 'sendMessage')
        .map((call) => call.payload['text']),
      expected,
    )
    await assertOneTurn(store)
  })
}

for (const step of Object.keys(steps)) {
  test(`Discord: killed when a message is ${step}, the gateway sends one answer and stores one`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using discord = await startFakeDiscord()
    const env = { DISCORD_TOKEN: discord.token, DISCORD_API_ROOT: discord.rest }
    await using first = startNode(script, [file, step], { env })
    await first.waitForOutput('serving')
    const message = discord.pushMessage({ authorId: '900000000000000001', content: 'hello' })
    const exit = await first.exited

    await using second = startNode(script, [file], { env })
    await second.waitForOutput('serving')
    discord.redeliver(message.id)
    await using store = await openStore({ path: file })
    await everythingDone(store, { platform: 'discord', account: discord.botId })
    await second.kill()

    assert.equal(exit.signal, 'SIGKILL')
    assert.deepEqual(
      discord.sent.filter(({ kind }) => kind === 'message').map(({ content }) => content),
      ['re: hello'],
    )
    await assertOneTurn(store)
  })
}

/** Resolves when the messages have their answers and the answers are sent, or given up. */
async function everythingDone(
  store: Store,
  bot: { platform: string; account: string },
): Promise<void> {
  const gateway = await openGateway(store)
  const open = () =>
    store.db.selectFrom('store_outbox').select('id').where('done_at', 'is', null).execute()
  for (;;) {
    const pending = await gateway.pendingTurns({ ...bot, since: 0 })
    if (pending.length + (await open()).length === 0) return
    await sleep(50)
  }
}

async function assertOneTurn(store: Store): Promise<void> {
  const [session, ...others] = await store.sessions.list()
  assert(session)
  assert.deepEqual(others, [])
  const messages = await store.messages.list(session.id)
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'hello'],
      ['assistant', 're: hello'],
    ],
  )
  assert.deepEqual([session.messageCount, session.apiCallCount, session.outputTokens], [2, 1, 1])
}

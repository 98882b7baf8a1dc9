import assert from 'node:assert/strict'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startFakeBotApi } from '../support/fake-bot-api.ts'
import { tempFolder } from '../support/temp-store.ts'
import { startGateway } from './start-gateway.ts'

const UPDATES = 120
const CHATS = 6
const KILLS = 5

test('killed again and again while it works, with everything delivered again: one row and one answer each', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using telegram = await startFakeBotApi()
  const env = {
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_API_ROOT: telegram.apiRoot,
    GATEWAY_LEASE_SECONDS: '0.5',
  }
  const updates = Array.from({ length: UPDATES }, (_, n) => {
    const chat = 1 + (n % CHATS)
    return telegram.pushMessage({ chatId: chat, userId: chat, text: `message ${n}` }).update_id
  })

  for (let kill = 1; kill <= KILLS; kill += 1) {
    await using gateway = startGateway(file, { env })
    await gateway.waitForOutput('serving @')
    await sleep(20 + 60 * kill)
    await gateway.kill('SIGKILL')
    for (const update of updates) telegram.redeliver(update)
  }
  await using last = startGateway(file, { env })
  await telegram.waitForAck(updates.at(-1) ?? 0, 60_000)
  await using store = await openStore({ path: file })
  const { db } = store
  const open = async () => [
    ...(await db
      .selectFrom('store_inbound')
      .select('route_id')
      .where('settled_at', 'is', null)
      .execute()),
    ...(await db.selectFrom('store_outbox').select('id').where('done_at', 'is', null).execute()),
  ]
  while ((await open()).length > 0) await sleep(50)
  await last.kill()

  const texts = telegram.sent
    .filter(({ method }) => method === 'sendMessage')
    .map(({ payload }) => String(payload['text']))
  const warnings = texts.filter((text) => text.includes('may have got this already')).length
  const answers = texts.length - warnings
  t.diagnostic(`${warnings} answers were possibly sent before`)
  assert(
    answers >= UPDATES && answers <= UPDATES + warnings,
    `${answers} with ${warnings} warnings`,
  )
  for (const { id, messageCount, apiCallCount } of await store.sessions.list()) {
    const messages = await store.messages.list(id)
    const said = (role: string) => messages.filter((message) => message.role === role)
    assert.deepEqual(
      [messageCount, messages.length, said('user').length, said('assistant').length, apiCallCount],
      [2, 2, 1, 1, 1].map((n) => (n * UPDATES) / CHATS),
    )
    const asked = said('user').map(({ content }) => content)
    assert.equal(new Set(asked).size, asked.length)
  }
})

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { InvalidInputError, openStore, type Store } from '../../src/index.ts'
import {
  hermesV11,
  openGateway,
  type ChatSourceInput,
  type Gateway,
  type GatewayOptions,
  type ResetOptions,
} from '../../src/gateway-adapter/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

const ada = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 5, userId: 5 }
const group = { platform: 'telegram', account: '1', chatType: 'group', chatId: -100, userId: 5 }
const hook = { platform: 'webhook', chatType: 'dm', chatId: 'webhook:a:1' }

const HOUR = 60 * 60 * 1000
const idle = { mode: 'idle', idleMinutes: 60 } as const

interface Given {
  store: Store
  gateway: Gateway
  /** Moves the clock, which stands at noon in UTC otherwise. */
  forward: (ms: number) => void
}

async function gatewayWith(t: TestContext, resets: ResetOptions): Promise<Given> {
  const store = await openTempStore(t)
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-05T12:00Z') })
  const gateway = await openGateway(store, { resets })
  return { store, gateway, forward: (ms) => t.mock.timers.tick(ms) }
}

let lastId = 0
function say(gateway: Gateway, source: ChatSourceInput = ada) {
  lastId += 1
  return gateway.inbound(source, { text: 'hello', id: lastId })
}

test('after a long silence the old session ends and the message begins a new one, which says why', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { default: idle })
  const before = await say(gateway)

  forward(HOUR + 1)
  const after = await say(gateway)
  const next = await say(gateway)

  assert.equal(after.lane.fresh, true)
  assert.deepEqual(after.lane.reset, { reason: 'idle', notify: true, hadActivity: true })
  assert.equal(await store.messages.count(before.lane.sessionId), 1)
  const { endReason, endedAt } = await store.sessions.get(before.lane.sessionId)
  assert.deepEqual([endReason, endedAt], ['idle', Date.now() / 1000])
  assert.equal(next.lane.sessionId, after.lane.sessionId)
  assert.equal(next.lane.reset, undefined)
})

test('every message and every answer begins the silence anew', async (t) => {
  const { gateway, forward } = await gatewayWith(t, { default: idle })
  const { lane } = await say(gateway)

  forward(HOUR)
  await say(gateway)
  forward(HOUR)
  await gateway.turn(lane, { messages: [{ role: 'assistant', content: 'late' }] })
  forward(HOUR)
  const last = await say(gateway)

  assert.equal(last.lane.sessionId, lane.sessionId)
})

test('commands neither leave the session nor keep it alive', async (t) => {
  const { gateway, forward } = await gatewayWith(t, { default: idle })
  const { lane } = await say(gateway)

  forward(HOUR)
  await gateway.title(ada, 'Trip')
  forward(1)
  const title = await gateway.title(ada)
  const usage = await gateway.usage(ada)
  const after = await say(gateway)

  assert.equal(title, 'Trip')
  assert.equal(usage.sessionId, lane.sessionId)
  assert.equal(after.lane.reset?.reason, 'idle')
})

test('resolve leaves a session that is due, once, so that the chat can be told before the message is taken', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { default: idle })
  await say(gateway)

  forward(2 * HOUR)
  const lane = await gateway.resolve(ada)
  const again = await gateway.resolve(ada)
  const taken = await gateway.inbound(lane, { text: 'hello', id: 'x' })

  assert.equal(lane.reset?.reason, 'idle')
  assert.equal(again.reset, undefined)
  assert.deepEqual([again.sessionId, taken.lane.sessionId], [lane.sessionId, lane.sessionId])
  assert.equal(await store.sessions.count(), 2)
})

test('the daily hour ends a lively session, counted from its start', async (t) => {
  const daily = { mode: 'daily', timeZone: 'UTC' } as const
  const { store, gateway, forward } = await gatewayWith(t, { default: daily })
  const first = await say(gateway)

  forward(15 * HOUR)
  await say(gateway)
  forward(HOUR)
  const second = await say(gateway)
  forward(23 * HOUR)
  const third = await say(gateway)

  assert.deepEqual([second.lane.reset?.reason, third.lane.reset], ['daily', undefined])
  assert.equal((await store.sessions.get(first.lane.sessionId)).endReason, 'daily')
})

test('a session that was gone back to counts from then on', async (t) => {
  const daily = { mode: 'daily', timeZone: 'UTC' } as const
  const { gateway, forward } = await gatewayWith(t, { default: daily })
  const old = await say(gateway)

  forward(40 * HOUR)
  await gateway.reset(ada)
  await gateway.resume(ada, old.lane.sessionId, { scope: 'lane' })
  const after = await say(gateway)

  assert.equal(after.lane.sessionId, old.lane.sessionId)
})

test('fifty messages at once after the silence make one new session', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { default: idle })
  await say(gateway)

  forward(2 * HOUR)
  const taken = await Promise.all(Array.from({ length: 50 }, () => say(gateway)))

  assert.equal(new Set(taken.map(({ lane }) => lane.sessionId)).size, 1)
  assert.equal(taken.filter(({ lane }) => lane.reset).length, 1)
  assert.equal(await store.sessions.count(), 2)
})

test('two processes that get the first messages after the silence make one new session', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { default: idle })
  await using otherStore = await openStore({ path: store.path })
  const other = await openGateway(otherStore, { resets: { default: idle } })
  await say(gateway)

  forward(2 * HOUR)
  const taken = await Promise.all(
    Array.from({ length: 20 }, (_, n) => say(n % 2 === 0 ? gateway : other)),
  )

  assert.equal(new Set(taken.map(({ lane }) => lane.sessionId)).size, 1)
  assert.equal(taken.filter(({ lane }) => lane.reset).length, 1)
  assert.equal(await store.sessions.count(), 2)
})

test('when the new session cannot be made the old one does not end, and the message is not taken', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { default: idle })
  const before = await say(gateway)
  const refuse = `create trigger refuse before insert on sessions begin select raise(abort, 'no'); end`
  withFile(store.path, (db) => db.exec(refuse))

  forward(2 * HOUR)
  await assert.rejects(gateway.inbound(ada, { text: 'hello', id: 'x' }))
  const { endedAt } = await store.sessions.get(before.lane.sessionId)
  const stored = await store.messages.count()
  withFile(store.path, (db) => db.exec('drop trigger refuse'))
  const after = await gateway.inbound(ada, { text: 'hello', id: 'x' })

  assert.deepEqual([endedAt, stored], [null, 1])
  assert.deepEqual([after.duplicate, after.lane.reset?.reason], [false, 'idle'])
})

test('a message delivered once more does not leave the session of the first', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { default: idle })
  const first = await gateway.inbound(ada, { text: 'hello', id: 'again' })

  forward(2 * HOUR)
  const again = await gateway.inbound(ada, { text: 'hello', id: 'again' })

  assert.deepEqual([again.duplicate, again.lane.sessionId], [true, first.lane.sessionId])
  assert.equal(await store.sessions.count(), 1)
})

test('nobody leaves a session while the gateway objects or a turn is under way in it', async (t) => {
  const asked: string[] = []
  let mayReset = false
  const { gateway, forward } = await gatewayWith(t, {
    default: { mode: 'idle', idleMinutes: 0.1 },
    canReset: ({ key }) => {
      asked.push(key)
      return mayReset
    },
  })
  const { lane, messageId } = await say(gateway)

  forward(7000)
  const objected = await say(gateway)
  mayReset = true
  forward(7000)
  await gateway.begin(lane, messageId)
  const atWork = await say(gateway)
  await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: 'done' }],
  })
  forward(7000)
  const free = await say(gateway)

  assert.equal(asked[0], lane.key)
  assert.deepEqual([objected.lane.reset, atWork.lane.reset], [undefined, undefined])
  assert.equal(free.lane.reset?.reason, 'idle')
})

test('the policy of the platform comes before that of the chat type, and that before the default', async (t) => {
  const { gateway, forward } = await gatewayWith(t, {
    default: { mode: 'none' },
    byChatType: { dm: idle },
    byPlatform: { webhook: { mode: 'idle', idleMinutes: 300 } },
  })
  const sources = [ada, group, hook]
  for (const source of sources) await say(gateway, source)
  const reasons = async () => {
    const lanes = await Promise.all(sources.map((source) => gateway.resolve(source)))
    return lanes.map(({ reset }) => reset?.reason)
  }

  forward(2 * HOUR)
  const soon = await reasons()
  forward(5 * HOUR)
  await say(gateway)
  const late = await reasons()

  assert.deepEqual(soon, ['idle', undefined, undefined])
  assert.deepEqual(late, [undefined, undefined, 'idle'])
})

test('people are told when something was said, the policy wants it and there are people', async (t) => {
  const { gateway, forward } = await gatewayWith(t, {
    default: idle,
    byChatType: { group: { ...idle, notify: false } },
  })
  for (const source of [group, hook]) await say(gateway, source)
  await gateway.resolve(ada)

  forward(2 * HOUR)
  const resets = await Promise.all(
    [ada, group, hook].map(async (source) => (await gateway.resolve(source)).reset),
  )

  assert.deepEqual(
    resets.map((reset) => [reset?.hadActivity, reset?.notify]),
    [
      [false, false],
      [true, false],
      [true, false],
    ],
  )
})

test("v11's rules: one clock for both, so that a message after the hour puts the daily reset off", async (t) => {
  let mayReset = false
  const { gateway, forward } = await gatewayWith(t, {
    default: hermesV11({ mode: 'daily' }, { timeZone: 'UTC' }),
    canReset: () => mayReset,
  })
  await say(gateway)

  forward(17 * HOUR)
  await say(gateway)
  mayReset = true
  const putOff = await say(gateway)
  forward(24 * HOUR)
  const next = await say(gateway)

  assert.equal(putOff.lane.reset, undefined)
  assert.equal(next.lane.reset?.reason, 'daily')
})

test('a session two chats are in is left by one and goes on in the other', async (t) => {
  const { store, gateway, forward } = await gatewayWith(t, { byChatType: { dm: idle } })
  const { lane } = await say(gateway, group)
  await gateway.resume(ada, lane.sessionId, { scope: 'user' })

  forward(2 * HOUR)
  const left = await say(gateway)

  assert.equal(left.lane.reset?.reason, 'idle')
  assert.equal((await store.sessions.get(lane.sessionId)).endedAt, null)
})

test('a policy that cannot be is refused when the gateway is opened', async (t) => {
  const store = await openTempStore(t)
  const options: GatewayOptions = { resets: { byPlatform: { x: { mode: 'daily', atHour: 24 } } } }

  await assert.rejects(
    openGateway(store, options),
    (error) => error instanceof InvalidInputError && error.field === 'resets.byPlatform.x.atHour',
  )
})

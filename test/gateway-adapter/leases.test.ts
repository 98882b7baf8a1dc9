import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'

import { LeaseLostError } from '../../src/index.ts'
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { ada, bob, gatewayOn, isInvalid, LEASE_MS, renewed, stopClock } from './chats.ts'

const hello = { messages: [{ role: 'assistant', content: 'hello' }] }

test('a message that comes while another is being answered is stored and queued, in every process', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const other = await openGateway(store)
  const first = await gateway.inbound(ada, { text: 'one', id: 1 })

  const second = await other.inbound(ada, { text: 'two', id: 2 })
  const third = await gateway.inbound(ada, { text: 'three', id: 3 })
  const elsewhere = await other.inbound(bob, { text: 'other chat', id: 1 })

  assert.deepEqual(
    [first, second, third, elsewhere].map(({ queued }) => queued),
    [false, true, true, false],
  )
  assert.equal(await other.begin(second.lane, second.messageId), 'queued')
  await gateway.turn(first.lane, { ...hello, answers: first.messageId })
  assert.equal(await other.begin(second.lane, second.messageId), 'begun')
  assert.equal(await gateway.begin(third.lane, third.messageId), 'queued')
  assert.equal(await store.messages.count(), 5)
})

test('a message delivered again while it is being answered is not begun again', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  await gateway.inbound(ada, { text: 'one', id: 1 })

  const again = await gateway.inbound(ada, { text: 'one', id: 1 })
  const elsewhere = await (await openGateway(store)).inbound(ada, { text: 'one', id: 1 })

  assert.deepEqual([again.duplicate, again.settled, again.queued], [true, false, true])
  assert.deepEqual([elsewhere.duplicate, elsewhere.queued], [true, true])
})

test("a dead process's turn is taken over, and what it still says in the end counts for nothing", async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t)
  const dead = await gateway.inbound(ada, { text: 'one', id: 1 })
  const other = await openGateway(store)

  assert.equal(await other.begin(dead.lane, dead.messageId), 'queued')
  t.mock.timers.tick(LEASE_MS)
  assert.equal(await other.begin(dead.lane, dead.messageId), 'begun')
  const turn = await other.turn(dead.lane, { ...hello, answers: dead.messageId })
  const late = await gateway.turn(dead.lane, { ...hello, answers: dead.messageId })

  assert.deepEqual(late, { messageIds: turn.messageIds, duplicate: true, replies: [] })
  assert.equal(await gateway.begin(dead.lane, dead.messageId), 'settled')
})

test('a redelivery to a new process takes the turn of the dead one over', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t)
  await gateway.inbound(ada, { text: 'one', id: 1 })
  t.mock.timers.tick(LEASE_MS)

  const again = await (await openGateway(store)).inbound(ada, { text: 'one', id: 1 })

  assert.deepEqual([again.duplicate, again.settled, again.queued], [true, false, false])
})

test('work that takes longer than its lease keeps it, and gives it back at the end', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.3 })
  stopClock(t)
  const other = await openGateway(store)
  const one = await gateway.inbound(ada, { text: 'one', id: 1 })
  const two = await other.inbound(ada, { text: 'two', id: 2 })
  const begins: string[] = []

  await gateway.working(one.lane, one.messageId, async (signal) => {
    for (let n = 0; n < 4; n += 1) {
      t.mock.timers.tick(200)
      await renewed(store)
    }
    begins.push(await other.begin(two.lane, two.messageId))
    assert.equal(signal.aborted, false)
  })
  begins.push(await other.begin(two.lane, two.messageId))

  assert.deepEqual(begins, ['queued', 'begun'])
})

test('work that fails gives its turn back', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'one', id: 1 })

  const work = gateway.working(lane, messageId, async () => {
    throw new Error('no model')
  })

  await assert.rejects(work, /no model/)
  assert.equal(await gateway.begin(lane, messageId), 'begun')
})

test('work that loses its turn to another process is told, and cannot begin it again', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.3 })
  stopClock(t)
  const other = await openGateway(store)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'one', id: 1 })

  const reason = await gateway.working(lane, messageId, async (signal) => {
    // As if this process had stood still: no renewal comes in between.
    t.mock.timers.tick(LEASE_MS)
    assert.equal(await other.begin(lane, messageId), 'begun')
    while (!signal.aborted) await sleep(5)
    return signal.reason as unknown
  })

  assert(reason instanceof LeaseLostError)
  assert.equal(await gateway.begin(lane, messageId), 'queued')
  const again = gateway.working(lane, messageId, async () => {})
  await assert.rejects(again, LeaseLostError)
})

test('of the messages that wait in a process the oldest begins first, and a new one lets them go first', async (t) => {
  const { gateway } = await gatewayOn(t)
  const one = await gateway.inbound(ada, { text: 'one', id: 1 })
  const two = await gateway.inbound(ada, { text: 'two', id: 2 })
  const three = await gateway.inbound(ada, { text: 'three', id: 3 })

  await gateway.turn(one.lane, { ...hello, answers: one.messageId })
  const four = await gateway.inbound(ada, { text: 'four', id: 4 })
  const begins = []
  for (const { lane, messageId } of [four, three, two]) {
    begins.push(await gateway.begin(lane, messageId))
  }
  await gateway.giveUp(two.messageId)
  for (const { lane, messageId } of [four, two, three]) {
    begins.push(await gateway.begin(lane, messageId))
  }

  assert.equal(four.queued, true)
  assert.deepEqual(begins, ['queued', 'queued', 'begun', 'queued', 'settled', 'begun'])
})

test('a waiting message that nobody asks about any more holds up no other', async (t) => {
  const { gateway } = await gatewayOn(t, { leaseSeconds: 0.05 })
  const one = await gateway.inbound(ada, { text: 'one', id: 1 })
  await gateway.inbound(ada, { text: 'two', id: 2 })
  await gateway.turn(one.lane, { ...hello, answers: one.messageId })

  await sleep(60)
  const three = await gateway.inbound(ada, { text: 'three', id: 3 })

  assert.equal(three.queued, false)
})

test('a message that is given up lets the next one begin', async (t) => {
  const { gateway } = await gatewayOn(t)
  const one = await gateway.inbound(ada, { text: 'one', id: 1 })
  const two = await gateway.inbound(ada, { text: 'two', id: 2 })

  await gateway.giveUp(one.messageId)

  assert.equal(await gateway.begin(one.lane, one.messageId), 'settled')
  assert.equal(await gateway.begin(two.lane, two.messageId), 'begun')
})

test('a clock that is set back by an hour stops nobody for an hour', async (t) => {
  const { gateway } = await gatewayOn(t)
  const one = await gateway.inbound(ada, { text: 'one', id: 1 })
  const two = await gateway.inbound(ada, { text: 'two', id: 2 })

  stopClock(t, Date.now() - 3_600_000)
  const begun = await gateway.begin(two.lane, two.messageId)
  await gateway.turn(two.lane, { ...hello, answers: two.messageId })
  await gateway.turn(one.lane, { ...hello, answers: one.messageId })
  const { lane } = await gateway.inbound(ada, { text: 'three', id: 3 })

  assert.equal(begun, 'begun')
  assert.deepEqual(
    (await gateway.history(lane)).map(({ content }) => content),
    ['one', 'two', 'hello', 'hello', 'three'],
  )
})

test('a lease that is no time is refused', async (t) => {
  await assert.rejects(gatewayOn(t, { leaseSeconds: 0 }), isInvalid('leaseSeconds'))
  await assert.rejects(gatewayOn(t, { leaseSeconds: Number.NaN }), isInvalid('leaseSeconds'))
})

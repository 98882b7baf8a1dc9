import assert from 'node:assert/strict'
import { test } from 'node:test'

import { LeaseLostError } from '../../src/index.ts'
import { openGateway, type Gateway, type Reply } from '../../src/gateway-adapter/index.ts'
import { ada, bob, gatewayOn, LEASE_MS, renewed, stopClock } from './chats.ts'

const bot = { platform: 'telegram', account: '1' }

async function answer(gateway: Gateway, replies: string[], id = 1): Promise<readonly Reply[]> {
  const { lane, messageId } = await gateway.inbound({ ...ada, messageId: id }, { text: 'hi', id })
  const turn = await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: replies.join(' ') }],
    replies,
  })
  return turn.replies
}

test('a reply is in the file before it is sent, and out of the list when it is delivered', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const replies = await answer(gateway, ['hello'])
  const sent: string[] = []

  await gateway.outbox.send(replies, async ({ text, source }) => {
    sent.push(`${source.chatId} ${source.messageId} ${text}`)
    return 77
  })

  assert.deepEqual(sent, ['12345 1 hello'])
  assert.deepEqual(await gateway.outbox.undelivered(bot), [])
  const outbound = await store.db.selectFrom('store_outbound').selectAll().execute()
  assert.deepEqual(
    outbound.map((row) => [row.chat_id, row.platform_message_id]),
    [['12345', '77']],
  )
  const [row] = await store.db.selectFrom('store_outbox').select(['text', 'attempts']).execute()
  assert.deepEqual(row, { text: '', attempts: 1 })
})

test('what a crash interrupted is listed by another process, as possibly sent, once its sender is dead', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t)
  const [reply] = await answer(gateway, ['hello'])
  const other = await openGateway(store)

  const whileAlive = await other.outbox.undelivered(bot)
  t.mock.timers.tick(LEASE_MS)
  const left = await other.outbox.undelivered(bot)

  assert.deepEqual(whileAlive, [])
  assert.deepEqual(left, [{ ...reply, attempts: 1, maybeSent: true }])
  assert.deepEqual([reply?.attempts, reply?.maybeSent], [0, false])
  assert.deepEqual(await other.outbox.undelivered({ ...bot, account: '2' }), [])
})

test('of two processes that find a reply only one may send it', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t)
  await answer(gateway, ['hello'])
  t.mock.timers.tick(LEASE_MS)
  const others = [await openGateway(store), await openGateway(store)]
  const [reply] = await gateway.outbox.undelivered(bot)
  assert(reply)

  const taken = await Promise.all(others.map(({ outbox }) => outbox.takeUp(reply)))

  assert.equal(taken.filter(Boolean).length, 1)
  const [winner] = others.filter((_, n) => taken[n])
  await winner?.outbox.delivered(reply.id, { platformMessageIds: ['9'] })
  assert.equal(await others[0]?.outbox.takeUp(reply), false)
})

test('what another process has taken up is not sent by the first one, which came too late', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t)
  const replies = await answer(gateway, ['one', 'two'])
  const other = await openGateway(store)
  const sent: string[] = []

  const sending = gateway.outbox.send(replies, async ({ text }) => {
    sent.push(text)
    t.mock.timers.tick(LEASE_MS)
    const [left] = await other.outbox.undelivered(bot)
    assert(left && (await other.outbox.takeUp(left)))
    return text
  })

  await assert.rejects(sending, LeaseLostError)
  assert.deepEqual(sent, ['one'])
  await assert.rejects(
    gateway.outbox.send(replies, async () => 1),
    LeaseLostError,
  )
})

test('a refused reply was not sent, one whose attempt just broke off may have been', async (t) => {
  const { gateway } = await gatewayOn(t)
  const refused = await answer(gateway, ['one'], 1)
  const broken = await answer(gateway, ['two'], 2)
  const fail = async (): Promise<never> => {
    throw new Error('Forbidden: bot was blocked')
  }

  await assert.rejects(gateway.outbox.send(refused, fail, { isRefusal: () => true }), /blocked/)
  await assert.rejects(gateway.outbox.send(broken, fail), /blocked/)

  const left = await gateway.outbox.undelivered(bot)
  assert.deepEqual(
    left.map(({ text, maybeSent, attempts, lastError }) => [text, maybeSent, attempts, lastError]),
    [
      ['one', false, 1, 'Forbidden: bot was blocked'],
      ['two', true, 1, 'Forbidden: bot was blocked'],
    ],
  )
})

test('an attempt that is refused does not hide that an earlier one may have got through', async (t) => {
  const { gateway } = await gatewayOn(t)
  const [reply] = await answer(gateway, ['one'])
  assert(reply)
  await gateway.outbox.failed(reply.id, 'connection reset', { refused: false })

  assert.equal(await gateway.outbox.takeUp(reply), true)
  await gateway.outbox.failed(reply.id, 'Too Many Requests', { refused: true })

  const [left] = await gateway.outbox.undelivered(bot)
  assert.deepEqual([left?.attempts, left?.maybeSent], [2, true])
})

test('of an answer in parts the delivered ones are not sent again', async (t) => {
  const { gateway } = await gatewayOn(t)
  const replies = await answer(gateway, ['one', 'two', 'three'])
  const sent: string[] = []

  const sending = gateway.outbox.send(replies, async ({ text }) => {
    if (text === 'two') throw new Error('offline')
    sent.push(text)
    return text
  })

  await assert.rejects(sending, /offline/)
  assert.deepEqual(sent, ['one'])
  const left = await gateway.outbox.undelivered(bot)
  assert.deepEqual(
    left.map(({ text, attempts, maybeSent }) => [text, attempts, maybeSent]),
    [
      ['two', 1, true],
      ['three', 0, false],
    ],
  )
})

test('sending for longer than the lease keeps the reply from others', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.3 })
  stopClock(t)
  const replies = await answer(gateway, ['hello'])
  const other = await openGateway(store)
  let seen: readonly Reply[] | undefined

  await gateway.outbox.send(replies, async () => {
    for (let n = 0; n < 4; n += 1) {
      t.mock.timers.tick(200)
      await renewed(store)
    }
    seen = await other.outbox.undelivered(bot)
    return 1
  })

  assert.deepEqual(seen, [])
})

test('an abandoned reply is not listed, nor one whose session Hermes deleted or whose turn was undone', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t)
  const [one] = await answer(gateway, ['one'], 1)
  await gateway.outbox.abandon(one?.id ?? 0)
  await answer(gateway, ['two'], 2)
  await gateway.undo(ada)
  const his = await gateway.inbound(bob, { text: 'x', id: 3 })
  await gateway.turn(his.lane, { messages: [{ role: 'assistant', content: 'y' }], replies: ['y'] })
  await store.sessions.delete(his.lane.sessionId)

  t.mock.timers.tick(LEASE_MS)

  assert.deepEqual(await gateway.outbox.undelivered(bot), [])
})

test('the nonce of a reply fits Discord and stays the same', async (t) => {
  const { gateway } = await gatewayOn(t)
  const [one] = await answer(gateway, ['one'], 1)
  const [two] = await answer(gateway, ['two'], 2)
  await gateway.outbox.failed(one?.id ?? 0, 'x', { refused: true })

  const [again] = await gateway.outbox.undelivered(bot)

  assert.equal(again?.nonce, one?.nonce)
  assert.notEqual(two?.nonce, one?.nonce)
  assert((one?.nonce.length ?? 0) > 8 && (one?.nonce.length ?? 99) <= 25)
})

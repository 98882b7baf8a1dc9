import assert from 'node:assert/strict'
import { test } from 'node:test'

import { estimateTokens, openGateway } from '../../src/gateway-adapter/index.ts'
import { ada, bob, exchange, gatewayOn, group, isInvalid, topic, transcript } from './chats.ts'

const dayOf = (date: Date) => date.toISOString().slice(0, 10)

test('a turn recorded again under its operation id is the first one, also without a message to answer', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const lane = await gateway.resolve(ada)
  const reminder = (content: string) => ({
    operationId: 'reminder:1',
    messages: [{ role: 'assistant', content }],
    usage: { outputTokens: 5 },
    replies: [content],
  })
  const first = await gateway.turn(lane, reminder('tea is ready'))

  const again = await (await openGateway(store)).turn(lane, reminder('tea is cold'))
  const other = await gateway.turn(await gateway.resolve(bob), reminder('for Bob'))

  assert.deepEqual(again, { messageIds: first.messageIds, duplicate: true, replies: [] })
  assert.equal(other.duplicate, false)
  assert.deepEqual(await transcript(store, lane.sessionId), ['tea is ready'])
  assert.equal((await gateway.usage(ada)).outputTokens, 5)
})

test('fifty attempts at once to record one operation record one turn', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const lane = await gateway.resolve(ada)

  const turns = await Promise.all(
    Array.from({ length: 50 }, () =>
      gateway.turn(lane, { operationId: 'x', messages: [{ role: 'assistant', content: 'hi' }] }),
    ),
  )

  assert.equal(turns.filter(({ duplicate }) => !duplicate).length, 1)
  assert.equal(await store.messages.count(), 1)
})

test('what a conversation and a person used is kept by day and model, whatever session it was in', async (t) => {
  const { gateway } = await gatewayOn(t)
  const use = async (
    source: typeof ada | typeof topic,
    id: number,
    model: string,
    cost?: number,
  ) => {
    const { lane, messageId } = await gateway.inbound(source, { text: 'x', id })
    await gateway.turn(lane, {
      answers: messageId,
      messages: [{ role: 'assistant', content: 'y' }],
      model,
      usage: { inputTokens: 10, outputTokens: 2, ...(cost && { estimatedCostUsd: cost }) },
    })
  }
  await use(ada, 1, 'small', 0.25)
  await gateway.reset(ada)
  await use(ada, 2, 'small')
  await use(ada, 3, 'large', 1)
  await use({ ...topic, userId: 12345 }, 4, 'small')
  await use({ ...topic, userId: 777 }, 5, 'small')

  const brief = async (source: typeof ada, scope: 'lane' | 'user' | 'all') =>
    (await gateway.usageByDay(source, { scope })).map((u) => [
      u.model,
      u.turns,
      u.inputTokens,
      u.costUsd,
    ])

  assert.deepEqual(await brief(ada, 'lane'), [
    ['large', 1, 10, 1],
    ['small', 2, 20, 0.25],
  ])
  assert.deepEqual(await brief(ada, 'user'), [
    ['large', 1, 10, 1],
    ['small', 3, 30, 0.25],
  ])
  assert.deepEqual(await brief(bob, 'user'), [['small', 1, 10, null]])
  assert.deepEqual((await brief(bob, 'all'))[1], ['small', 4, 40, 0.25])
  assert.equal((await gateway.usageByDay(ada, { scope: 'lane' }))[0]?.day, dayOf(new Date()))
})

test('a message costs two transactions, and one more for a reply that was sent', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  let transactions = 0
  const begin = store.transaction.bind(store)
  store.transaction = (work) => {
    transactions += 1
    return begin(work)
  }

  const { lane, messageId } = await gateway.inbound(ada, { text: 'hi', id: 1 })
  const { replies } = await gateway.working(lane, messageId, async () => {
    const history = await gateway.history(lane, { answering: messageId })
    const messages = [{ role: 'assistant', content: `${history.length} so far` }]
    return gateway.turn(lane, { answers: messageId, messages, usage: {}, replies: ['1 so far'] })
  })
  const forMessage = transactions
  await gateway.outbox.send(replies, async () => 7)

  assert.deepEqual([forMessage, transactions], [2, 3])
})

test('usage is counted for the person who asked, not for the one who was asked last', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { lane } = await gateway.inbound(topic, { text: 'one', id: 1 })
  const second = await gateway.inbound({ ...topic, userId: 8 }, { text: 'two', id: 2 })

  await gateway.turn(lane, {
    answers: second.messageId,
    messages: [{ role: 'assistant', content: 'x' }],
    usage: { outputTokens: 3 },
  })

  const ofEight = await gateway.usageByDay({ ...topic, userId: 8 }, { scope: 'user' })
  assert.deepEqual(
    ofEight.map(({ outputTokens }) => outputTokens),
    [3],
  )
  assert.deepEqual(await gateway.usageByDay(topic, { scope: 'user' }), [])
})

test('the history stays within a budget of tokens and never begins within an exchange with tools', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'weather?', id: 1 })
  await gateway.turn(lane, {
    answers: messageId,
    messages: [
      { role: 'assistant', toolCalls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', content: 'sunny', toolCallId: 'a' },
      { role: 'tool', content: 'warm', toolCallId: 'b' },
      { role: 'assistant', content: 'Sunny and warm.' },
    ],
  })
  const next = await gateway.inbound(ada, { text: 'and tomorrow?', id: 2 })
  const roles = async (maxTokens: number) =>
    (
      await gateway.history(lane, { maxTokens, countTokens: () => 10, answering: next.messageId })
    ).map(({ role }) => role)

  assert.deepEqual(await roles(60), ['user', 'assistant', 'tool', 'tool', 'assistant', 'user'])
  assert.deepEqual(await roles(59), ['assistant', 'tool', 'tool', 'assistant', 'user'])
  assert.deepEqual(await roles(49), ['assistant', 'user'])
  assert.deepEqual(await roles(29), ['assistant', 'user'])
  assert.deepEqual(await roles(19), ['user'])
  assert.deepEqual(await roles(0), ['user'])
})

test('a history longer than one read comes whole and in order', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await gateway.inbound(ada, { text: '0', id: 0 })
  const rest = Array.from({ length: 300 }, (_, n) => ({ role: 'user', content: `${n + 1}` }))
  await store.messages.appendMany(lane.sessionId, rest)

  const all = await gateway.history(lane)
  const some = await gateway.history(lane, { limit: 200 })

  assert.deepEqual(
    all.map(({ content }) => Number(content)),
    Array.from({ length: 301 }, (_, n) => n),
  )
  assert.deepEqual(some, all.slice(-200))
})

test('without a tokenizer a token is four Latin letters, or one of another script', () => {
  const tokens = (content: string) => estimateTokens({ role: 'user', content }) - 4

  assert.equal(tokens('abcd'.repeat(100)), 100)
  assert.equal(tokens('日本語'), 3)
  assert.equal(tokens(''), 0)
  assert(estimateTokens({ role: 'assistant', content: null, tool_calls: [{ id: 'x' }] }) > 4)
})

test('an export holds what is in scope and nothing else', async (t) => {
  const { gateway } = await gatewayOn(t)
  const mine = await exchange(gateway, ada, '1', 'mine')
  const grouped = await exchange(gateway, { ...group, userId: 12345 }, '2', 'mine in the group')
  const his = await exchange(gateway, bob, '3', 'his')
  const ids = async (scope: 'lane' | 'user' | 'all') => {
    const sessions = await Array.fromAsync(gateway.exports(ada, { scope }))
    return sessions.map(({ id }) => id).toSorted()
  }
  const sorted = (...lanes: (typeof mine)[]) => lanes.map(({ lane }) => lane.sessionId).toSorted()

  assert.deepEqual(await ids('lane'), sorted(mine))
  assert.deepEqual(await ids('user'), sorted(mine, grouped))
  assert.deepEqual(await ids('all'), sorted(mine, grouped, his))
  const [exported] = await Array.fromAsync(gateway.exports(ada, { scope: 'lane' }))
  assert.deepEqual(
    exported?.messages.map(({ content }) => content),
    ['mine', 're: mine'],
  )
})

test('bad turns are refused by name and leave nothing behind', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const lane = await gateway.resolve(ada)
  const messages = [{ role: 'assistant', content: 'x' }]

  await assert.rejects(gateway.turn(lane, { messages, operationId: '' }), isInvalid('operationId'))
  await assert.rejects(gateway.turn(lane, { messages, replies: [''] }), isInvalid('replies[0]'))
  await assert.rejects(gateway.turn(lane, { messages: [], replies: ['x'] }), isInvalid('replies'))
  await assert.rejects(gateway.history(lane, { maxTokens: -2 }), isInvalid('maxTokens'))

  assert.equal(await store.messages.count(), 0)
})

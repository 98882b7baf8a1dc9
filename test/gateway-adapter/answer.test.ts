import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  openGateway,
  type AnswerOptions,
  type Gateway,
  type Reply,
} from '../../src/gateway-adapter/index.ts'
import type { ChatMessage } from '../../src/index.ts'
import { ada, bob, exchange, gatewayOn, group, isInvalid, transcript } from './chats.ts'

const bot = { platform: 'telegram', account: '1' }

function questionOf(history: readonly ChatMessage[]): string {
  const content = history.at(-1)?.content
  return typeof content === 'string' ? content : ''
}

/** A model that repeats the question, and a chat that takes everything. */
function echo(sent: Reply[] = []): AnswerOptions & { readonly sent: Reply[] } {
  return {
    sent,
    ask: async (history) => ({
      text: `re: ${questionOf(history)}`,
      model: 'echo',
      usage: { outputTokens: 1 },
    }),
    send: async (reply) => {
      sent.push(reply)
      return `sent-${reply.id}`
    },
  }
}

async function take(gateway: Gateway, id: number, text = `q${id}`) {
  return gateway.inbound(ada, { text, id })
}

test('a taken message gets its answer: asked, stored, counted and sent, once', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const how = echo()
  const taken = await take(gateway, 1)

  const outcome = await gateway.answer(taken, how)
  const again = await gateway.answer(await take(gateway, 1), how)

  assert.deepEqual([outcome, again], ['answered', 'settled'])
  assert.deepEqual(await transcript(store, taken.lane.sessionId), ['q1', 're: q1'])
  assert.deepEqual(
    how.sent.map(({ text }) => text),
    ['re: q1'],
  )
  assert.deepEqual(await gateway.outbox.undelivered(bot), [])
  assert.equal((await gateway.deleted(ada, [`sent-${how.sent[0]?.id}`])).length, 1)
  assert.equal((await gateway.usage(ada)).outputTokens, 1)
})

test('the message of a translator is taken as it is', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const source = { ...ada, account: '1', chatId: '12345', userId: '12345' }
  const message = { kind: 'message', source, text: 'hi', at: 5, messageId: '1' } as const

  const taken = await gateway.inbound({ ...message, attachments: [] })
  const again = await gateway.inbound(source, { text: 'hi', id: 1 })

  assert.equal(again.messageId, taken.messageId)
  assert.deepEqual(await transcript(store, taken.lane.sessionId), ['hi'])
  const edit = { ...message, kind: 'edited', messageId: '2', attachments: [] } as const
  await assert.rejects(gateway.inbound(edit), isInvalid('message.kind'))
})

test('messages of a session are answered one after another, oldest first, those of others meanwhile', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const questions: string[] = []
  const gate = Promise.withResolvers<void>()
  const how: AnswerOptions = {
    ask: async (history) => {
      const question = questionOf(history)
      questions.push(question)
      if (question === 'q1') await gate.promise
      return { text: `re: ${question}` }
    },
  }
  const first = await take(gateway, 1)
  const answers = [gateway.answer(first, how)]
  const [third, second] = [await take(gateway, 3, 'q2'), await take(gateway, 2, 'q3')]
  answers.push(gateway.answer(second, how), gateway.answer(third, how))

  const other = await gateway.inbound(bob, { text: 'b', id: 1 })
  await gateway.answer(other, how)
  gate.resolve()
  await Promise.all(answers)

  assert.deepEqual(questions.toSorted(), ['b', 'q1', 'q2', 'q3'])
  assert.deepEqual(
    questions.filter((text) => text !== 'b'),
    ['q1', 'q2', 'q3'],
  )
  assert.deepEqual((await transcript(store, first.lane.sessionId)).slice(3), [
    're: q1',
    're: q2',
    're: q3',
  ])
})

test('whoever waits for a turn of the same process is told of its end, and asks the file no more', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 60 })
  const gate = Promise.withResolvers<void>()
  const first = await take(gateway, 1)
  const slow = gateway.answer(first, { ask: () => gate.promise.then(() => ({ text: 'slow' })) })
  const others = [2, 3, 4].map(async (id) => gateway.answer(await take(gateway, id), echo()))
  await sleep(100)

  gate.resolve()
  // A look every 20 seconds would not see the end in time.
  const outcomes = await Promise.all([slow, ...others])

  assert.deepEqual(outcomes, ['answered', 'answered', 'answered', 'answered'])
  assert.equal((await store.messages.list(first.lane.sessionId)).length, 8)
})

test('a message given up, undone or deleted while others wait lets them begin', async (t) => {
  const { gateway } = await gatewayOn(t, { leaseSeconds: 60 })
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const ask = async () => {
    asked.resolve()
    await gate.promise
    return { text: 'late' }
  }
  const first = gateway.answer(await take(gateway, 1), { ask })
  await asked.promise
  const second = await take(gateway, 2)
  const [waiting, next] = [
    gateway.answer(second, echo()),
    gateway.answer(await take(gateway, 3), echo()),
  ]

  await gateway.deleted(ada, [2])
  gate.resolve()
  const held = await take(gateway, 4)

  assert.deepEqual(await Promise.all([first, waiting, next]), ['answered', 'settled', 'answered'])
  const after = gateway.answer(await take(gateway, 5), echo())
  await sleep(20)
  await gateway.giveUp(held.messageId)
  assert.equal(await after, 'answered')
})

test('a redelivery joins the answer that is under way', async (t) => {
  const { gateway } = await gatewayOn(t)
  const gate = Promise.withResolvers<void>()
  let asked = 0
  const ask = async () => {
    asked += 1
    await gate.promise
    return { text: 'once' }
  }

  const first = gateway.answer(await take(gateway, 1), { ask })
  const again = gateway.answer(await take(gateway, 1), { ask })
  gate.resolve()

  assert.deepEqual(await Promise.all([first, again]), ['answered', 'answered'])
  await gateway.idle()
  assert.equal(asked, 1)
})

test('when the model fails the message stays pending, and the next one begins at once', async (t) => {
  const { gateway } = await gatewayOn(t, { leaseSeconds: 60 })
  const ask = () => Promise.reject(new Error('no model'))
  const failing = gateway.answer(await take(gateway, 1), { ask })
  const next = gateway.answer(await take(gateway, 2), echo())

  await assert.rejects(failing, /no model/)
  assert.equal(await next, 'answered')
  const pending = await gateway.pendingTurns({ ...bot, since: 0 })
  assert.deepEqual(
    pending.map(({ platformMessageId }) => platformMessageId),
    ['1'],
  )
})

test('a model without an answer settles the message, one with an empty text says nothing', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { sent, send } = echo()
  const taken = await take(gateway, 1)

  const nothing = await gateway.answer(taken, { ask: async () => undefined })
  const silent = await gateway.answer(await take(gateway, 2), {
    ask: async () => ({ text: '' }),
    ...(send && { send }),
  })

  assert.deepEqual([nothing, silent, sent], ['given up', 'answered', []])
  assert.deepEqual(await gateway.pendingTurns({ ...bot, since: 0 }), [])
  assert.deepEqual(await transcript(store, taken.lane.sessionId), ['q1', 'q2', ''])
  const bad = await take(gateway, 3)
  const ask = async () => ({ text: 5 }) as never
  await assert.rejects(gateway.answer(bad, { ask }), isInvalid('answer.text'))
})

test('tool messages are stored with the answer, a long one is sent in parts', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { sent, send } = echo()
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const taken = await take(gateway, 1)

  await gateway.answer(taken, {
    ask: async () => ({
      text: 'it is blue',
      messages: [
        { role: 'assistant', content: null, toolCalls: [call] },
        { role: 'tool', content: 'blue', toolCallId: 'c1' },
        { role: 'assistant', content: 'it is blue', finishReason: 'stop' },
      ],
    }),
    split: (text) => text.split(' '),
    ...(send && { send }),
  })

  assert.deepEqual(await transcript(store, taken.lane.sessionId), [
    'q1',
    null,
    'blue',
    'it is blue',
  ])
  assert.deepEqual(
    sent.map(({ text }) => text),
    ['it', 'is', 'blue'],
  )
})

test('an answer that cannot be sent is stored, rejects, and is sent by the next catch-up', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const how = echo()
  const taken = await take(gateway, 1)
  const refusing = { ...how, send: () => Promise.reject(new Error('no network')) }

  await assert.rejects(gateway.answer(taken, refusing), /no network/)
  assert.equal(await gateway.answer(await take(gateway, 1), how), 'settled')
  const caughtUp = await gateway.catchUp({ ...bot, ...how })

  assert.deepEqual(caughtUp, { answered: 0, sent: 1 })
  assert.deepEqual(await transcript(store, taken.lane.sessionId), ['q1', 're: q1'])
  assert.deepEqual(await gateway.catchUp({ ...bot, ...how }), { answered: 0, sent: 0 })
  assert.equal(how.sent.length, 1)
})

test('stopping ends the waiting and the asking, and the next run answers', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const stop = new AbortController()
  const asked = Promise.withResolvers<void>()
  const ask = (_: unknown, signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')))
      asked.resolve()
    })
  const { signal } = stop
  const running = [
    gateway.answer(await take(gateway, 1), { ask, signal }),
    gateway.answer(await take(gateway, 2), { ask, signal }),
  ]
  await asked.promise

  stop.abort()

  assert.deepEqual(await Promise.all(running), ['stopped', 'stopped'])
  assert.equal(await gateway.answer(await take(gateway, 1), { ask, signal }), 'stopped')
  await gateway.idle()
  const next = await openGateway(store)
  assert.deepEqual(await next.catchUp({ ...bot, ...echo() }), { answered: 2, sent: 0 })
})

test("a dead process's message is answered by another that waits for it", async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.3 })
  const dead = await openGateway(store, { leaseSeconds: 0.3 })
  await take(dead, 1)
  const how = echo()

  const outcomes = [
    gateway.answer(await take(gateway, 1), how),
    gateway.answer(await take(gateway, 2), how),
  ]

  assert.deepEqual(await Promise.all(outcomes), ['answered', 'answered'])
  assert.deepEqual(
    how.sent.map(({ text }) => text),
    ['re: q1', 're: q2'],
  )
})

test('catching up answers each message once, however many processes do it, and says what failed', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const dead = await openGateway(store, { leaseSeconds: 0.01 })
  for (let id = 1; id <= 5; id += 1) await take(dead, id)
  await sleep(20)
  const how = echo()
  const others = await Promise.all([openGateway(store), openGateway(store)])

  const runs = await Promise.all(
    [gateway, ...others].map((each) => each.catchUp({ ...bot, ...how })),
  )
  await take(dead, 9)
  const failing = gateway.catchUp({ ...bot, ask: () => Promise.reject(new Error('no model')) })

  assert.equal(
    runs.reduce((sum, { answered }) => sum + answered, 0),
    5,
  )
  assert.equal(how.sent.length, 5)
  await assert.rejects(failing, (error: AggregateError) => {
    assert.deepEqual(
      error.errors.map((each: Error) => each.message),
      ['no model'],
    )
    return true
  })
})

test('what may be in the chat already is sent again unless the caller would rather lose it', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.01 })
  const { lane } = await exchange(gateway, ada, '1', 'hi')
  const record = (text: string) =>
    gateway.turn(lane, {
      messages: [{ role: 'assistant', content: text }],
      replies: [text, `${text}, too`],
    })
  await record('kept')
  await sleep(20)
  const how = echo()
  const next = await openGateway(store)

  const again = ({ maybeSent }: Reply) => (maybeSent ? 'abandon' : 'send')
  const caughtUp = await next.catchUp({ ...bot, ...how, again })

  // The first may have been sent; that the second never was is known.
  assert.deepEqual(caughtUp, { answered: 0, sent: 1 })
  assert.deepEqual(
    how.sent.map(({ text, maybeSent }) => [text, maybeSent]),
    [['kept, too', false]],
  )
  assert.deepEqual(await next.outbox.undelivered(bot), [])
})

test('work that is taken over is lost here, and answered there', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.3 })
  const asked = Promise.withResolvers<void>()
  const ask = (_: unknown, signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
      asked.resolve()
    })
  const slow = gateway.answer(await take(gateway, 1), { ask })
  await asked.promise
  // As after a long standstill.
  await store.transaction(({ db }) =>
    db.updateTable('store_leases').set({ holder: 'another', expires_at: 0 }).execute(),
  )

  assert.equal(await slow, 'lost')
  assert.equal(await gateway.answer(await take(gateway, 1), echo()), 'answered')
})

test('an answer that is given while its chat moves is said where the chat is now', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { sent, send } = echo()
  const taken = await gateway.inbound({ ...group, userId: 7 }, { text: 'hi', id: 1 })

  await gateway.answer(taken, {
    ask: async () => {
      await gateway.migrateChat({ ...bot, fromChatId: group.chatId, toChatId: -1005 })
      return { text: 'here' }
    },
    ...(send && { send }),
  })

  assert.deepEqual(
    sent.map(({ source }) => [source.chatId, source.messageId]),
    [['-1005', undefined]],
  )
  assert.equal(
    (await gateway.deleted({ ...bot, chatId: -1005 }, [`sent-${sent[0]?.id}`])).length,
    1,
  )
})

test('a turn under way in a session that Hermes compresses keeps others out of the continuation', async (t) => {
  const { store, gateway } = await gatewayOn(t, { leaseSeconds: 0.3 })
  const other = await openGateway(store, { leaseSeconds: 0.3 })
  const first = await take(gateway, 1)
  let second: Promise<unknown> = Promise.resolve()
  let during: string | undefined

  await gateway.answer(first, {
    ask: async () => {
      const parentSessionId = first.lane.sessionId
      await store.sessions.end(parentSessionId, 'compression')
      await store.sessions.create({ source: 'telegram', parentSessionId })
      const taken = await take(other, 2)
      second = other.answer(taken, echo())
      // Longer than a lease lasts that nobody renews.
      await sleep(600)
      during = (await transcript(store, taken.lane.sessionId)).join()
      return { text: 'a1' }
    },
  })

  assert.equal(await second, 'answered')
  assert.equal(during, 'q2')
  const tip = (await gateway.resolve(ada)).sessionId
  assert.notEqual(tip, first.lane.sessionId)
  assert.deepEqual(await transcript(store, tip), ['q2', 'a1', 're: q2'])
  assert.deepEqual(await store.db.selectFrom('store_leases').select('name').execute(), [])
})

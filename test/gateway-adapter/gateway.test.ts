import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'

import { InvalidInputError, SessionNotFoundError, TitleTakenError } from '../../src/index.ts'
import type { Store } from '../../src/index.ts'
import { openGateway, type ChatSourceInput, type Gateway } from '../../src/gateway-adapter/index.ts'
import { startNode } from '../support/child.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'
import { openTempStore } from '../support/temp-store.ts'

const ada = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 12345, userId: 12345 }
const bob = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 777, userId: 777 }
const group = { platform: 'telegram', account: '1', chatType: 'group', chatId: -100200 }
const topic = { ...group, threadId: '42', userId: 7, userName: 'Ada' }

async function gatewayOn(t: TestContext): Promise<{ store: Store; gateway: Gateway }> {
  const store = await openTempStore(t)
  return { store, gateway: await openGateway(store) }
}

let lastId = 0
function say(gateway: Gateway, source: ChatSourceInput, text: string) {
  lastId += 1
  return gateway.inbound(source, { text, id: lastId })
}

test('a first message makes a session, is stored in it and gives Hermes the chat and user', async (t) => {
  const { store, gateway } = await gatewayOn(t)

  const { lane, messageId, duplicate } = await gateway.inbound(ada, { text: 'hello', id: 1 })

  assert.equal(duplicate, false)
  assert.deepEqual(
    [lane.key, lane.fresh, lane.shared],
    ['agent:main:telegram:dm:12345', true, false],
  )
  const session = await store.sessions.get(lane.sessionId)
  assert.deepEqual([session.source, session.userId], ['telegram', '12345'])
  const [message] = await store.messages.list(lane.sessionId)
  assert.deepEqual([message?.id, message?.role, message?.content], [messageId, 'user', 'hello'])
})

test('the next message goes to the same session', async (t) => {
  const { gateway } = await gatewayOn(t)
  const first = await say(gateway, ada, 'one')

  const lane = await gateway.resolve(ada)
  const second = await gateway.inbound(lane, { text: 'two', id: 'x' })

  assert.equal(lane.sessionId, first.lane.sessionId)
  assert.equal(second.lane.sessionId, first.lane.sessionId)
  assert.deepEqual([lane.fresh, second.lane.fresh], [false, false])
})

test('fifty first messages at once make one session', async (t) => {
  const { store, gateway } = await gatewayOn(t)

  const taken = await Promise.all(Array.from({ length: 50 }, (_, n) => say(gateway, ada, `${n}`)))

  assert.equal(new Set(taken.map(({ lane }) => lane.sessionId)).size, 1)
  assert.equal(await store.sessions.count(), 1)
  assert.equal(await store.messages.count(), 50)
})

test('two processes that get the same updates of a new chat store and answer each once', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const count = 100
  const script = path.join(import.meta.dirname, 'inbound-child.ts')

  await using one = startNode(script, [store.path, String(count)])
  await using other = startNode(script, [store.path, String(count)])
  const exits = [await one.exited, await other.exited]

  assert.deepEqual(
    exits.map(({ code }) => code),
    [0, 0],
    one.stderr + other.stderr,
  )
  const duplicates = [one, other].map(
    ({ stdout }) => (JSON.parse(stdout) as { duplicates: number }).duplicates,
  )
  assert.equal((duplicates[0] ?? 0) + (duplicates[1] ?? 0), count)
  assert.equal(await store.sessions.count(), 1)
  assert.equal(await store.messages.count(), 2 * count)
  const chat = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 1, userId: 1 }
  assert.equal((await gateway.usage(chat)).outputTokens, count)
})

test('topic 42, user 42, another bot and an id with a colon are different conversations', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const sources = [
    { ...group, threadId: '42', userId: 1 },
    { ...group, userId: 42 },
    { ...group, userId: 42, account: '2' },
    { ...group, chatId: '-100200:42' },
  ]

  for (const source of sources) await say(gateway, source, 'hi')

  assert.equal(await store.sessions.count(), sources.length)
})

test('a message delivered twice is stored once, also by another gateway and after its session ended', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const first = await gateway.inbound(ada, { text: 'hello', id: 1 })
  await gateway.reset(ada)

  const again = await (await openGateway(store)).inbound(ada, { text: 'hello', id: 1 })

  assert.deepEqual([again.duplicate, again.settled], [true, false])
  assert.equal(again.messageId, first.messageId)
  assert.equal(again.lane.sessionId, first.lane.sessionId)
  assert.equal(await store.messages.count(), 1)
})

test('equal texts with different ids, and equal ids in different chats, are different messages', async (t) => {
  const { store, gateway } = await gatewayOn(t)

  await gateway.inbound(ada, { text: 'ok', id: 1 })
  await gateway.inbound(ada, { text: 'ok', id: 2 })
  await gateway.inbound(bob, { text: 'ok', id: 1 })

  assert.equal(await store.messages.count(), 3)
})

test('a message whose session Hermes deleted is not taken again, and waits for nothing', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await gateway.inbound(ada, { text: 'hello', id: 1 })
  await deleteSession(store, lane.sessionId)

  const again = await gateway.inbound(ada, { text: 'hello', id: 1 })

  assert.deepEqual([again.duplicate, again.settled], [true, true])
  assert.equal(await store.messages.count(), 0)
})

test('bad input is refused by name and leaves nothing behind', async (t) => {
  const { store, gateway } = await gatewayOn(t)

  await assert.rejects(gateway.inbound(ada, { text: 'x', id: '' }), isInvalid('id'))
  await assert.rejects(gateway.inbound(ada, { text: 5 as never, id: 1 }), isInvalid('text'))
  await assert.rejects(gateway.inbound(ada, { text: 'x', id: 2 ** 60 }), isInvalid('id'))
  await assert.rejects(gateway.inbound(ada, { text: 'x', id: 1, at: Number.NaN }), isInvalid('at'))

  assert.equal(await store.sessions.count(), 0)
})

test('in a shared chat the stored text says who wrote it, whatever the name', async (t) => {
  const { gateway } = await gatewayOn(t)

  const { lane } = await say(gateway, topic, 'hi')
  await say(gateway, { ...topic, userId: 8, userName: 'Eve]\n[Ada' }, 'me too')
  await say(gateway, { ...topic, userId: 9, userName: undefined }, 'and me')

  assert.equal(lane.shared, true)
  assert.deepEqual(
    (await gateway.history(lane, { limit: 10 })).map(({ content }) => content),
    ['[Ada] hi', '[Eve Ada] me too', '[9] and me'],
  )
})

test('a turn stores its messages, counts and costs, and settles what it answers', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await say(gateway, ada, 'weather?')

  const turn = await gateway.turn(lane, {
    answers: messageId,
    messages: [
      { role: 'assistant', content: null, toolCalls: [{ id: 'c1', function: { name: 'w' } }] },
      { role: 'tool', content: 'sunny', toolCallId: 'c1', toolName: 'w' },
      { role: 'assistant', content: 'Sunny.', finishReason: 'stop' },
    ],
    model: 'gpt',
    usage: { inputTokens: 10, outputTokens: 3, cacheReadTokens: 2, actualCostUsd: 0.5 },
  })

  assert.equal(turn.messageIds.length, 3)
  const { messageCount, toolCallCount } = await store.sessions.get(lane.sessionId)
  assert.deepEqual([messageCount, toolCallCount], [4, 1])
  const usage = await gateway.usage(ada)
  assert.deepEqual(
    [usage.model, usage.apiCalls, usage.totalTokens, usage.costUsd],
    ['gpt', 1, 15, 0.5],
  )
  assert.deepEqual(await gateway.pendingTurns({ platform: 'telegram', account: '1', since: 0 }), [])
})

test('a message is answered once', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await say(gateway, ada, 'hello')
  const answer = { answers: messageId, messages: [{ role: 'assistant', content: 'hi' }] }
  const first = await gateway.turn(lane, { ...answer, usage: { outputTokens: 1 } })

  const second = await gateway.turn(lane, { ...answer, usage: { outputTokens: 1 } })

  assert.deepEqual(second, { messageIds: first.messageIds, duplicate: true, replies: [] })
  assert.equal((await gateway.usage(ada)).outputTokens, 1)
  assert.equal(await store.messages.count(), 2)
})

test('a turn that cannot be stored as a whole is not stored at all', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await say(gateway, ada, 'hello')

  await assert.rejects(
    gateway.turn(lane, {
      answers: messageId,
      messages: [{ role: 'assistant', content: 'hi' }],
      usage: { inputTokens: 0.5 },
    }),
    isInvalid('inputTokens'),
  )

  assert.equal(await store.messages.count(), 1)
  assert.equal((await gateway.inbound(ada, { text: 'hello', id: lastId })).settled, false)
})

test('a turn in a session that Hermes deleted fails by name', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await say(gateway, ada, 'hello')
  await deleteSession(store, lane.sessionId)

  const turn = gateway.turn(lane, { messages: [{ role: 'assistant', content: 'hi' }] })

  await assert.rejects(turn, SessionNotFoundError)
})

test('what a crash left unanswered is listed with where to answer, until it is answered or given up', async (t) => {
  const { gateway } = await gatewayOn(t)
  const first = await gateway.inbound(topic, { text: 'one', id: 5 })
  const second = await gateway.inbound({ ...group, userId: 7 }, { text: 'two', id: 6 })
  await gateway.inbound(bob, { text: 'three', id: 7 })
  await gateway.inbound({ ...ada, account: '2' }, { text: 'another bot', id: 8 })

  const pending = await gateway.pendingTurns({ platform: 'telegram', account: '1', since: 0 })
  await gateway.giveUp(first.messageId)
  await gateway.turn(second.lane, {
    answers: second.messageId,
    messages: [{ role: 'assistant', content: 'ok' }],
  })
  const left = await gateway.pendingTurns({ platform: 'telegram', account: '1', since: 0 })

  assert.deepEqual(
    pending.map(({ platformMessageId }) => platformMessageId),
    ['5', '6', '7'],
  )
  assert.deepEqual(pending[0]?.lane, {
    ...first.lane,
    fresh: false,
    source: { ...first.lane.source, messageId: '5' },
  })
  assert.deepEqual(pending[1]?.lane.sessionId, second.lane.sessionId)
  assert.deepEqual(
    left.map(({ platformMessageId }) => platformMessageId),
    ['7'],
  )
})

test('the history ends with the message to answer; what came in meanwhile waits for its own turn', async (t) => {
  const { gateway } = await gatewayOn(t)
  const one = await say(gateway, ada, 'one')
  const two = await say(gateway, ada, 'two')
  const { lane } = one

  const forOne = await gateway.history(lane, { limit: 10, answering: one.messageId })
  await gateway.turn(lane, {
    answers: one.messageId,
    messages: [{ role: 'assistant', content: 'first' }],
  })
  const forTwo = await gateway.history(lane, { limit: 10, answering: two.messageId })

  assert.deepEqual(
    forOne.map(({ content }) => content),
    ['one'],
  )
  assert.deepEqual(
    forTwo.map(({ content }) => content),
    ['one', 'first', 'two'],
  )
})

test('a cut history never begins with the answer of a tool whose call is cut off', async (t) => {
  const { gateway } = await gatewayOn(t)
  const { lane } = await say(gateway, ada, 'weather?')
  await gateway.turn(lane, {
    messages: [
      { role: 'assistant', toolCalls: [{ id: 'c1' }] },
      { role: 'tool', content: 'sunny', toolCallId: 'c1' },
      { role: 'assistant', content: 'Sunny.' },
    ],
  })

  const roles = async (limit: number) =>
    (await gateway.history(lane, { limit })).map(({ role }) => role)

  assert.deepEqual(await roles(2), ['assistant'])
  assert.deepEqual(await roles(3), ['assistant', 'tool', 'assistant'])
  assert.deepEqual(await roles(0), [])
  assert.equal((await roles(-1)).length, 4)
})

test('a reset ends the session and begins one with the given title', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const before = await say(gateway, ada, 'hello')

  const { lane, title, duplicate } = await gateway.reset(ada, { title: 'Trip' })

  assert.deepEqual([title, duplicate, lane.fresh], ['Trip', false, true])
  assert.notEqual(lane.sessionId, before.lane.sessionId)
  assert.equal((await store.sessions.get(before.lane.sessionId)).endReason, 'session_reset')
  assert.equal((await gateway.resolve(ada)).sessionId, lane.sessionId)
})

test('a reset with a title that is taken changes nothing and does not say whose it is', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const his = await gateway.reset(bob, { title: 'Trip' })
  const before = await say(gateway, ada, 'hello')

  const error = await gateway.reset(ada, { title: 'Trip' }).catch((reason: unknown) => reason)

  assert(error instanceof TitleTakenError)
  assert.doesNotMatch(JSON.stringify(error) + error.message, new RegExp(his.lane.sessionId))
  assert.equal((await gateway.resolve(ada)).sessionId, before.lane.sessionId)
  assert.equal((await store.sessions.get(before.lane.sessionId)).endedAt, null)
})

test('a redelivered command is not carried out again', async (t) => {
  const { gateway } = await gatewayOn(t)
  const command = { ...ada, messageId: 50 }
  const first = await gateway.reset(command)
  await say(gateway, ada, 'hello')

  const again = await gateway.reset(command)
  await gateway.title({ ...ada, messageId: 51 }, 'Old')
  await gateway.title({ ...ada, messageId: 52 }, 'New')
  const title = await gateway.title({ ...ada, messageId: 51 }, 'Old')

  assert.equal(again.duplicate, true)
  assert.equal(again.lane.sessionId, first.lane.sessionId)
  assert.equal(title, 'New')
})

test('a title can be set, read and is refused when blank', async (t) => {
  const { gateway } = await gatewayOn(t)

  assert.equal(await gateway.title(ada), null)
  assert.equal(await gateway.title(ada, 'Trip'), 'Trip')
  assert.equal(await gateway.title(ada), 'Trip')
  await assert.rejects(gateway.title(ada, ' '), isInvalid('title'))
})

test('a chat goes back to its earlier session by title, id or the beginning of the id', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const old = await say(gateway, ada, 'hello')
  await gateway.title(ada, 'Trip')

  for (const wanted of ['Trip', old.lane.sessionId, old.lane.sessionId.slice(0, -1)]) {
    const { lane: left } = await gateway.reset(ada)
    const back = await gateway.resume(ada, wanted, { scope: 'lane' })

    assert.equal(back?.lane.sessionId, old.lane.sessionId)
    assert.deepEqual([back?.title, back?.messageCount], ['Trip', 1])
    assert.equal((await store.sessions.get(left.sessionId)).endReason, 'session_switch')
  }
  assert.equal((await store.sessions.get(old.lane.sessionId)).endedAt, null)
  assert.equal((await gateway.resolve(ada)).sessionId, old.lane.sessionId)
})

test('resuming by a title takes the latest of its numbered continuations', async (t) => {
  const { gateway } = await gatewayOn(t)
  await gateway.title(ada, 'Trip')
  const second = await gateway.reset(ada, { title: 'trip #2' })
  await gateway.reset(ada)

  const back = await gateway.resume(ada, 'Trip', { scope: 'lane' })

  assert.equal(back?.lane.sessionId, second.lane.sessionId)
})

test('nobody can resume, list or find the session of somebody else', async (t) => {
  const { gateway } = await gatewayOn(t)
  const his = await say(gateway, bob, 'my secret word is xyzzy')
  await gateway.title(bob, 'Secret')
  await say(gateway, { ...topic, userId: 777 }, 'xyzzy in the group')
  const mine = await say(gateway, ada, 'hello')

  for (const scope of ['lane', 'user'] as const) {
    assert.equal(await gateway.resume(ada, 'Secret', { scope }), undefined)
    assert.equal(await gateway.resume(ada, his.lane.sessionId, { scope }), undefined)
    assert.deepEqual(await gateway.search(ada, 'xyzzy', { scope, limit: 5 }), [])
    const listed = await gateway.sessions(ada, { scope, limit: 5 })
    assert.deepEqual(
      listed.map(({ id }) => id),
      [mine.lane.sessionId],
    )
  }
  assert.equal((await gateway.resolve(ada)).sessionId, mine.lane.sessionId)
  assert.equal((await gateway.search(ada, 'xyzzy', { scope: 'all', limit: 5 })).length, 2)
})

test('a person finds their own private sessions in every chat, and nobody finds them in a group', async (t) => {
  const { gateway } = await gatewayOn(t)
  const inDm = await say(gateway, ada, 'xyzzy in private')
  const inGroup = await say(gateway, { ...group, userId: 12345 }, 'xyzzy on my own in the group')
  const shared = await say(gateway, { ...topic, userId: 12345 }, 'xyzzy among us')
  const found = async (source: ChatSourceInput, scope: 'lane' | 'user') =>
    (await gateway.search(source, 'xyzzy', { scope, limit: 5 })).map(({ sessionId }) => sessionId)

  assert.deepEqual(
    (await found(ada, 'user')).toSorted(),
    [inDm.lane.sessionId, inGroup.lane.sessionId].toSorted(),
  )
  assert.deepEqual(await found(ada, 'lane'), [inDm.lane.sessionId])
  assert.deepEqual(await found({ ...topic, userId: 12345 }, 'lane'), [shared.lane.sessionId])
})

test('a chat without a user id sees only itself, and another bot sees nothing', async (t) => {
  const { gateway } = await gatewayOn(t)
  await say(gateway, topic, 'xyzzy among us')
  await say(gateway, ada, 'xyzzy in private')
  const nobody = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 9 }

  const options = { scope: 'user', limit: 5 } as const

  assert.deepEqual(await gateway.search(nobody, 'xyzzy', options), [])
  assert.deepEqual(await gateway.search({ ...ada, account: '2' }, 'xyzzy', options), [])
})

test("a person reaches what Hermes' own gateway kept for them, but nobody else's", async (t) => {
  const { store, gateway } = await gatewayOn(t)
  await store.sessions.create({ id: 'hers', source: 'telegram', userId: '12345' })
  await store.sessions.create({ id: 'his', source: 'telegram', userId: '777' })
  await store.sessions.create({ id: 'cli', source: 'cli', userId: '12345' })

  assert.equal(await gateway.resume(ada, 'hers', { scope: 'lane' }), undefined)
  assert.equal(await gateway.resume(ada, 'his', { scope: 'user' }), undefined)
  assert.equal(await gateway.resume(ada, 'cli', { scope: 'user' }), undefined)
  assert.equal((await gateway.resume(ada, 'hers', { scope: 'user' }))?.lane.sessionId, 'hers')
  assert.equal((await gateway.resume(ada, 'cli', { scope: 'all' }))?.lane.sessionId, 'cli')
})

test('an unknown scope is refused', async (t) => {
  const { gateway } = await gatewayOn(t)
  const scope = 'everybody' as never

  await assert.rejects(gateway.search(ada, 'x', { scope, limit: 1 }), isInvalid('scope'))
  await assert.rejects(gateway.resume(ada, 'x', { scope }), isInvalid('scope'))
})

test('a session two chats are in is not ended when one of them leaves it', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await say(gateway, ada, 'hello')
  await gateway.resume({ ...group, userId: 12345 }, lane.sessionId, { scope: 'user' })

  await gateway.reset(ada)

  assert.equal((await store.sessions.get(lane.sessionId)).endedAt, null)
})

test('a chat whose session Hermes deleted goes on in a new one', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const before = await say(gateway, ada, 'hello')
  await deleteSession(store, before.lane.sessionId)

  const after = await gateway.inbound(before.lane, { text: 'still there?', id: 'x' })

  assert.notEqual(after.lane.sessionId, before.lane.sessionId)
  assert.equal((await gateway.resolve(ada)).sessionId, after.lane.sessionId)
})

test(
  'the Python program can delete a session that a chat is in, messages and all',
  { skip: skipWithoutPython() },
  async (t) => {
    const { store, gateway } = await gatewayOn(t)
    const { lane } = await gateway.inbound(ada, { text: 'hello', id: 1 })

    await runPython(
      `import sqlite3, sys
c = sqlite3.connect(sys.argv[1], timeout=5)
c.execute("PRAGMA foreign_keys=ON")
c.execute("DELETE FROM messages WHERE session_id = ?", (sys.argv[2],))
c.execute("DELETE FROM sessions WHERE id = ?", (sys.argv[2],))
assert c.execute("PRAGMA foreign_key_check").fetchall() == []
c.commit()`,
      [store.path, lane.sessionId],
    )
    const again = await gateway.inbound(ada, { text: 'hello', id: 1 })
    const next = await gateway.inbound(ada, { text: 'anybody?', id: 2 })

    assert.deepEqual([again.duplicate, again.settled], [true, true])
    assert.notEqual(next.lane.sessionId, lane.sessionId)
    assert.equal(await store.messages.count(), 1)
  },
)

test('a compressed session is followed to its continuation, and the chat still finds the old part', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await say(gateway, ada, 'xyzzy')
  await store.sessions.end(lane.sessionId, 'compression')
  await store.sessions.create({ id: 'tip', source: 'telegram', parentSessionId: lane.sessionId })

  const { lane: next } = await say(gateway, ada, 'go on')
  await gateway.turn(lane, { messages: [{ role: 'assistant', content: 'late answer' }] })

  assert.equal(next.sessionId, 'tip')
  assert.equal(await store.messages.count('tip'), 2)
  assert.equal((await gateway.search(ada, 'xyzzy', { scope: 'lane', limit: 5 })).length, 1)
  assert.equal((await store.sessions.get(lane.sessionId)).endReason, 'compression')
})

test('a session that a closing program ended is opened again; one that was closed for good is left', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await say(gateway, ada, 'hello')

  await store.sessions.end(lane.sessionId, 'cli_close')
  const reopened = await say(gateway, ada, 'still there?')
  await store.sessions.end(lane.sessionId, 'session_reset')
  const renewed = await say(gateway, ada, 'hello again')

  assert.equal(reopened.lane.sessionId, lane.sessionId)
  assert.equal(renewed.lane.fresh, true)
})

function deleteSession(store: Store, id: string): Promise<void> {
  return store.transaction(async ({ db }) => {
    await db.deleteFrom('messages').where('session_id', '=', id).execute()
    await db.deleteFrom('sessions').where('id', '=', id).execute()
  })
}

function isInvalid(field: string) {
  return (error: unknown) => error instanceof InvalidInputError && error.field === field
}

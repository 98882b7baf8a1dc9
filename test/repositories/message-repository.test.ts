import assert from 'node:assert/strict'
import test from 'node:test'

import {
  InvalidInputError,
  SessionNotFoundError,
  type NewMessage,
  type Store,
} from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

async function counters(store: Store, id: string): Promise<(number | null)[]> {
  const { messageCount, toolCallCount } = await store.sessions.get(id)
  return [messageCount, toolCallCount]
}

function silent(length: number): NewMessage[] {
  return Array.from({ length }, () => ({ role: 'user' }))
}

test('a message is stored with all its fields, and counted', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  t.mock.method(Date, 'now', () => 1_770_000_000_250)

  const id = await store.messages.append('s', {
    role: 'assistant',
    content: 'text',
    toolName: 'terminal',
    toolCalls: [{ id: 'a' }, { id: 'b' }],
    toolCallId: 'call',
    tokenCount: 7,
    finishReason: 'stop',
    reasoning: 'because',
    reasoningContent: '',
    reasoningDetails: [{ type: 'summary' }],
    codexReasoningItems: [],
    codexMessageItems: { 名: '值' },
  })

  assert.deepEqual(await store.messages.list('s'), [
    {
      id,
      sessionId: 's',
      role: 'assistant',
      content: 'text',
      toolName: 'terminal',
      toolCalls: [{ id: 'a' }, { id: 'b' }],
      toolCallId: 'call',
      timestamp: 1_770_000_000.25,
      tokenCount: 7,
      finishReason: 'stop',
      reasoning: 'because',
      reasoningContent: '',
      reasoningDetails: '[{"type": "summary"}]',
      codexReasoningItems: null,
      codexMessageItems: '{"名": "值"}',
    },
  ])
  assert.deepEqual(await counters(store, 's'), [1, 2])
})

test('content of every type comes back as the agent would read it', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const given = ['', 'a\0b', 'a\ud800b', '\0json:', 42, 0.1, true, null, undefined, [], { a: [1] }]

  await store.messages.appendMany(
    's',
    given.map((content) => ({ role: 'user', content })),
  )
  await store.messages.append('s', { role: 'user', content: new Uint8Array([0, 255, 1]) })

  assert.deepEqual(
    (await store.messages.list('s')).map((message) => message.content),
    ['', 'a\0b', 'a\ufffdb', '\0json:', '42', '0.1', '1', null, null, [], { a: [1] }].concat([
      new Uint8Array([0, 255, 1]) as never,
    ]),
  )
})

const BAD_MESSAGES: [field: string, message: unknown][] = [
  ['message', null],
  ['message', 'text'],
  ['message', []],
  ['role', {}],
  ['role', { role: null }],
  ['role', { role: '' }],
  ['role', { role: 1 }],
  ['content', { role: 'user', content: () => 1 }],
  ['content', { role: 'user', content: new Map() }],
  ['content', { role: 'user', content: 2n ** 64n }],
  ['toolName', { role: 'user', toolName: 1 }],
  ['toolCallId', { role: 'user', toolCallId: {} }],
  ['toolCalls', { role: 'user', toolCalls: 5n }],
  ['tokenCount', { role: 'user', tokenCount: 1.5 }],
  ['tokenCount', { role: 'user', tokenCount: -1 }],
  ['tokenCount', { role: 'user', tokenCount: '1' }],
  ['finishReason', { role: 'user', finishReason: true }],
  ['reasoning', { role: 'user', reasoning: 1 }],
  ['reasoningContent', { role: 'user', reasoningContent: [] }],
]

test('a message that cannot be stored is refused by the name of its field', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')

  for (const [field, message] of BAD_MESSAGES) {
    await assert.rejects(
      store.messages.append('s', message as NewMessage),
      (error) => error instanceof InvalidInputError && error.field.startsWith(field),
      `${field} ${String(message)}`,
    )
  }
  await assert.rejects(
    store.messages.appendMany('s', [{ role: 'user' }, { role: '' }]),
    (error) => error instanceof InvalidInputError && error.field === 'messages[1].role',
  )
  await assert.rejects(store.messages.appendMany('s', 'text' as never), InvalidInputError)
  await assert.rejects(store.messages.append(1 as never, { role: 'user' }), InvalidInputError)

  assert.equal(await store.messages.count(), 0)
  assert.deepEqual(await counters(store, 's'), [0, 0])
})

test('an unknown session gets no message, and reads as empty', async (t) => {
  const store = await openTempStore(t)
  const message = { role: 'user', content: 'x' }

  await assert.rejects(store.messages.append('no', message), SessionNotFoundError)
  await assert.rejects(store.messages.append('', message), SessionNotFoundError)
  await assert.rejects(store.messages.appendMany('no', [message]), SessionNotFoundError)
  await assert.rejects(store.messages.replaceAll('no', [message]), SessionNotFoundError)

  assert.deepEqual(await store.messages.appendMany('no', []), [])
  assert.deepEqual(await store.messages.replaceAll('no', []), [])
  await store.messages.clear('no')
  assert.equal(await store.messages.count(), 0)
  assert.equal(await store.messages.count('no'), 0)
  assert.deepEqual(await store.messages.list('no'), [])
  assert.deepEqual(await store.messages.conversation('no', { includeAncestors: true }), [])
})

test('a replacement that fails leaves the transcript as it was', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  await store.messages.append('s', { role: 'user', content: 'old', toolCalls: [1] })
  const before = await store.messages.list('s')

  await assert.rejects(
    store.transaction(async (tx) => {
      await tx.messages.replaceAll('s', [{ role: 'user', content: 'new' }])
      throw new Error('no')
    }),
  )

  assert.deepEqual(await store.messages.list('s'), before)
  assert.deepEqual(await counters(store, 's'), [1, 1])
})

test('messages written together rise in time by a microsecond', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  t.mock.method(Date, 'now', () => 1_770_000_000_000)

  await store.messages.appendMany('s', [{ role: 'user' }, { role: 'user' }, { role: 'user' }])

  const times = (await store.messages.list('s')).map((message) => message.timestamp)
  assert.deepEqual(times, [1770000000, 1770000000.000001, 1770000000.000002])
})

test('100,000 messages in one call are one write, and others get their turns', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const many = Array.from({ length: 100_000 }, (_, n) => ({ role: 'user', content: `${n}` }))
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)

  const ids = await store.messages.appendMany('s', many)

  clearInterval(timer)
  assert.ok(turns > 100, `only ${turns} turns`)
  assert.equal(new Set(ids).size, 100_000)
  assert.deepEqual(await counters(store, 's'), [100_000, 0])
  const last = await store.messages.list('s', { afterId: ids[99_997]! })
  assert.deepEqual(
    last.map((message) => message.content),
    ['99998', '99999'],
  )
})

test('a list can be read page by page', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const ids = await store.messages.appendMany('s', silent(5))

  const pages = [
    await store.messages.list('s', { limit: 2 }),
    await store.messages.list('s', { limit: 2, afterId: ids[1]! }),
    await store.messages.list('s', { limit: -1, afterId: ids[3]! }),
    await store.messages.list('s', { limit: 0 }),
  ]

  assert.deepEqual(
    pages.map((page) => page.map((message) => message.id)),
    [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4), []],
  )
  for (const limit of [-2, 1.5, NaN, '1']) {
    await assert.rejects(store.messages.list('s', { limit: limit as number }), InvalidInputError)
  }
  await assert.rejects(store.messages.list('s', { afterId: 0.5 }), InvalidInputError)
})

test('a window must be a whole number; a negative one is none', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const [, middle] = await store.messages.appendMany('s', silent(3))

  const view = await store.messages.anchored('s', middle!, { window: -3, bookend: -1 })

  assert.deepEqual(
    view.window.map((message) => message.id),
    [middle],
  )
  for (const size of [0.5, NaN, Infinity, '5' as never]) {
    await assert.rejects(store.messages.around('s', middle!, { window: size }), InvalidInputError)
    await assert.rejects(
      store.messages.anchored('s', middle!, { bookend: size }),
      InvalidInputError,
    )
  }
  await assert.rejects(store.messages.around('s', 1.5), InvalidInputError)
  await assert.rejects(
    store.messages.anchored('s', middle!, { keepRoles: 'user' as never }),
    InvalidInputError,
  )
})

test('JSON text given as tool calls is kept as text and counts as one call', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')

  await store.messages.append('s', { role: 'assistant', toolCalls: '[{"id": 1}, {"id": 2}]' })

  const [message] = await store.messages.list('s')
  assert.equal(message?.toolCalls, '[{"id": 1}, {"id": 2}]')
  assert.deepEqual(await counters(store, 's'), [1, 1])
})

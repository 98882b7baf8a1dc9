import assert from 'node:assert/strict'
import { test } from 'node:test'

import type {
  AgentInputItem,
  Session,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'

import { AgentsSession } from '../../src/gateway-adapter/agents-session.ts'
import { HistoryConflictError, InvalidInputError, type Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'
import { assertCounted } from './faces.ts'

// Checked by the compiler: it is what OpenAI Agents declares.
const asAgentsDeclares = (
  session: AgentsSession<AgentInputItem>,
): Session & SessionHistoryTransactionAwareSession => session
void asAgentsDeclares

function user(text: string): AgentInputItem {
  return { type: 'message', role: 'user', content: text }
}

function said(text: string): AgentInputItem {
  const content = [{ type: 'output_text' as const, text }]
  return { type: 'message', role: 'assistant', status: 'completed', content }
}

function call(callId: string): AgentInputItem {
  return { type: 'function_call', callId, name: 'add', arguments: '{"a":1}', status: 'completed' }
}

function result(callId: string, text: string): AgentInputItem {
  const output = { type: 'text' as const, text }
  return { type: 'function_call_result', callId, name: 'add', status: 'completed', output }
}

function sessionOn(store: Store, sessionId?: string): AgentsSession<AgentInputItem> {
  return new AgentsSession(store, { source: 'agents', sessionId })
}

test('Hermes sees one message for what a model said at once, with its calls', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  const thought = { type: 'input_text' as const, text: 'Two sums.' }

  await session.addItems([
    user('1+1 and 2+2?'),
    { type: 'reasoning', content: [thought] },
    { type: 'hosted_tool_call', name: 'web_search', output: 'x' },
    said('Let me see.'),
    call('a'),
    call('b'),
    result('a', '2'),
    result('b', '4'),
    said('2 and 4'),
  ])

  const toolCall = (id: string) => ({
    id,
    type: 'function',
    function: { name: 'add', arguments: '{"a":1}' },
  })
  assert.deepEqual(await store.messages.conversation('s1'), [
    { role: 'user', content: '1+1 and 2+2?' },
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [toolCall('a'), toolCall('b')],
      reasoning: 'Two sums.',
    },
    { role: 'tool', content: '2', tool_call_id: 'a', tool_name: 'add' },
    { role: 'tool', content: '4', tool_call_id: 'b', tool_name: 'add' },
    { role: 'assistant', content: '2 and 4' },
  ])
  await assertCounted(store, 's1')
  assert.equal((await store.search.messages('"2 and 4"')).length, 1)
})

test('what Hermes wrote is read as items, pictures and calls among them', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's1', source: 'cli' })
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
  await store.messages.appendMany('s1', [
    { role: 'session_meta', content: '{}' },
    { role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture] },
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', content: 'a cat', toolCallId: 'c1', toolName: 'look' },
    { role: 'assistant', content: 'A cat.' },
  ])

  const found = await sessionOn(store, 's1').getItems()

  const image = picture.image_url.url
  assert.deepEqual(found, [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image },
      ],
    },
    { type: 'function_call', callId: 'c1', name: 'look', status: 'completed', arguments: '{}' },
    {
      type: 'function_call_result',
      callId: 'c1',
      name: 'look',
      status: 'completed',
      output: { type: 'text', text: 'a cat' },
    },
    said('A cat.'),
  ])
})

test('a message that was deleted, rewritten or added meanwhile counts, not the items of before', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  await session.addItems([user('secret'), said('noted'), user('hello'), said('hi')])
  const [first, , third] = await store.messages.list('s1')

  await store.transaction(async ({ db }) => {
    await db.deleteFrom('messages').where('id', '=', first!.id).execute()
    await db
      .updateTable('messages')
      .set({ content: 'hello, edited' })
      .where('id', '=', third!.id)
      .execute()
  })
  await store.messages.append('s1', { role: 'user', content: 'from Hermes' })

  assert.deepEqual(await session.getItems(), [
    said('noted'),
    user('hello, edited'),
    said('hi'),
    user('from Hermes'),
  ])
  assert.deepEqual(await session.popItem(), user('from Hermes'))
  assert.deepEqual(await session.getItems(1), [said('hi')])
})

test('when Hermes replaces all messages, the items are what it put in their place', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  await session.addItems([user('long'), call('c'), result('c', 'long'), said('long')])

  await store.messages.replaceAll('s1', [{ role: 'user', content: 'summary' }])
  await session.addItems([said('go on')])

  assert.deepEqual(await session.getItems(), [user('summary'), said('go on')])
  const left = await store.db.selectFrom('store_agent_items').select('item').execute()
  assert.equal(left.length, 1)
})

test('a session that Hermes deleted begins anew at the next item, with no trace of the old one', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  const transaction = { type: 'append_items' as const, items: [user('a')] }
  await session.applyHistoryTransaction({ operationId: 'op', transaction })

  await store.sessions.delete('s1')
  const gone = await session.getItems()
  await session.applyHistoryTransaction({ operationId: 'op', transaction })

  assert.deepEqual(gone, [])
  assert.deepEqual(await session.getItems(), [user('a')])
  assert.equal((await store.sessions.get('s1')).source, 'agents')
})

test('one item taken out of a message leaves the rest of the message', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  await session.addItems([user('q'), said('calling'), call('a'), call('b')])
  const before = await store.messages.list('s1')

  const popped = await session.popItem()

  const after = await store.messages.list('s1')
  assert.deepEqual(popped, call('b'))
  assert.deepEqual(await session.getItems(), [user('q'), said('calling'), call('a')])
  assert.deepEqual(
    after.map(({ content, timestamp }) => [content, timestamp]),
    before.map(({ content, timestamp }) => [content, timestamp]),
  )
  await assertCounted(store, 's1')
})

test('a history operation is done once; another content or another end is refused', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  const append = (text: string) => ({ type: 'append_items' as const, items: [user(text)] })
  const replace = (expected: string, by: string) => ({
    type: 'replace_suffix' as const,
    expectedSuffix: [user(expected)],
    replacement: [said(by)],
  })

  await session.applyHistoryTransaction({ operationId: 'op1', transaction: append('a') })
  await session.applyHistoryTransaction({ operationId: 'op1', transaction: append('a') })
  const conflicts = [
    { operationId: 'op1', transaction: append('b') },
    { operationId: 'op1', transaction: replace('a', 'b') },
    { operationId: 'op2', transaction: replace('b', 'c') },
  ]
  for (const conflict of conflicts) {
    await assert.rejects(session.applyHistoryTransaction(conflict), HistoryConflictError)
  }
  const unchanged = await session.getItems()
  // A refused operation left no mark: its id is free for what fits.
  await session.applyHistoryTransaction({ operationId: 'op2', transaction: replace('a', 'c') })

  assert.deepEqual(unchanged, [user('a')])
  assert.deepEqual(await session.getItems(), [said('c')])
})

test('what cannot be kept as it is, is refused whole', async (t) => {
  const session = sessionOn(await openTempStore(t), 's1')
  const cycle: Record<string, unknown> = { type: 'unknown' }
  cycle['self'] = cycle
  const bad: unknown[] = [
    cycle,
    { type: 'unknown', f: () => 1 },
    { a: new Map() },
    { a: 1n },
    null,
    'x',
  ]

  for (const item of bad) {
    await assert.rejects(session.addItems([user('a'), item as AgentInputItem]), InvalidInputError)
  }
  for (const id of ['', ' ', '\ud800', 7]) {
    const args = { operationId: id, transaction: { type: 'append_items', items: [user('a')] } }
    await assert.rejects(
      session.applyHistoryTransaction(
        args as Parameters<typeof session.applyHistoryTransaction>[0],
      ),
      InvalidInputError,
    )
  }
  assert.deepEqual(await session.getItems(), [])
})

test('clear empties the session and frees its operation ids', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store)
  const operation = {
    operationId: 'op',
    transaction: { type: 'append_items' as const, items: [user('a')] },
  }
  await session.applyHistoryTransaction(operation)

  await session.clearSession()
  const cleared = await session.getItems()
  await session.applyHistoryTransaction(operation)

  assert.deepEqual(cleared, [])
  assert.deepEqual(await session.getItems(), [user('a')])
  await assertCounted(store, await session.getSessionId())
})

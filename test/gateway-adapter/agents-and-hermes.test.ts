import assert from 'node:assert/strict'
import { test } from 'node:test'

import { runPython, skipWithoutPython } from '../support/python.ts'
import { openTempStore } from '../support/temp-store.ts'
import { call, result, said, sessionOn, user } from './agent-items.ts'
import { assertCounted } from './faces.ts'

const DELETE_IN_PYTHON = `
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
conn.execute("PRAGMA foreign_keys=ON")
conn.execute("BEGIN IMMEDIATE")
conn.execute("DELETE FROM messages WHERE session_id = 's1' AND role = 'user'")
conn.execute("DELETE FROM messages WHERE session_id = 's2'")
conn.execute("DELETE FROM sessions WHERE id = 's2'")
conn.execute("COMMIT")
`

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

const withPython = { skip: skipWithoutPython() }

test(
  'Python deletes messages and sessions with items, and none are left',
  withPython,
  async (t) => {
    const store = await openTempStore(t)
    const [first, second] = [sessionOn(store, 's1'), sessionOn(store, 's2')]
    for (const session of [first, second]) {
      const transaction = { type: 'append_items' as const, items: [user('a'), said('b')] }
      await session.applyHistoryTransaction({ operationId: 'op', transaction })
    }

    await runPython(DELETE_IN_PYTHON, [store.path])

    const left = async (table: 'store_agent_items' | 'store_agent_operations') =>
      (await store.db.selectFrom(table).selectAll().execute()).length
    assert.deepEqual(await first.getItems(), [said('b')])
    assert.deepEqual(
      [await left('store_agent_items'), await left('store_agent_operations')],
      [1, 1],
    )
    assert.deepEqual(await second.getItems(), [])
  },
)

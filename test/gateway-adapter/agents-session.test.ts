import assert from 'node:assert/strict'
import { test } from 'node:test'

import type {
  AgentInputItem,
  Session,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'

import type { AgentsSession } from '../../src/gateway-adapter/agents-session.ts'
import { HistoryConflictError, InvalidInputError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'
import { call, said, sessionOn, user } from './agent-items.ts'
import { assertCounted } from './faces.ts'

// Checked by the compiler: it is what OpenAI Agents declares.
const asAgentsDeclares = (
  session: AgentsSession<AgentInputItem>,
): Session & SessionHistoryTransactionAwareSession => session
void asAgentsDeclares

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

test('a suffix that ends inside a message is replaced, and the rest of the message stays', async (t) => {
  const store = await openTempStore(t)
  const session = sessionOn(store, 's1')
  await session.addItems([user('q'), said('calling'), call('a'), call('b'), call('c')])

  await session.applyHistoryTransaction({
    operationId: 'op',
    transaction: {
      type: 'replace_suffix',
      expectedSuffix: [call('b'), call('c')],
      replacement: [user('stop')],
    },
  })

  const left = [user('q'), said('calling'), call('a'), user('stop')]
  assert.deepEqual(await session.getItems(), left)
  assert.equal(await store.messages.count('s1'), 3)
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

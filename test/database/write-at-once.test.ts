import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql } from 'kysely'

import { openStore, SessionNotFoundError, StorageFullError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

test('an append that fails at once is rejected alone, by its own error', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })

  const results = await Promise.allSettled(
    ['s', 'none', 's'].map((id) => store.messages.append(id, { role: 'user', content: id })),
  )

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof SessionNotFoundError)
  assert.equal((await store.messages.list('s')).length, 2)
  assert.equal((await store.sessions.get('s')).messageCount, 2)
})

test('what the promises of a transaction would store is stored at once', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'a', source: 'cli' })
  await store.sessions.create({ id: 'b', source: 'cli' })
  const message = {
    role: 'assistant',
    content: 'words to find',
    toolCalls: [{ id: '1' }, { id: '2' }],
    toolName: 'tool',
    tokenCount: 7,
    finishReason: 'stop',
    reasoning: 'because',
    reasoningContent: '',
    reasoningDetails: [{ x: 1 }],
  }

  const id = await store.messages.append('a', message)
  await store.transaction((tx) => tx.messages.append('b', message))

  const [atOnce] = await store.messages.list('a')
  const [inTransaction] = await store.messages.list('b')
  const common = { id: 0, sessionId: '', timestamp: 0 }
  assert.equal(atOnce?.id, id)
  assert.deepEqual({ ...atOnce, ...common }, { ...inTransaction, ...common })
  assert.equal((await store.sessions.get('a')).toolCallCount, 2)
  assert.deepEqual((await store.search.messages('find')).map((hit) => hit.sessionId).toSorted(), [
    'a',
    'b',
  ])
})

test('the first message after a full disk is stored once there is room', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  const limitPages = (pages: number) =>
    store.transaction(async (tx) => {
      await sql`pragma max_page_count = ${sql.lit(pages)}`.execute(tx.db)
    })
  await limitPages(1)

  const big = { role: 'user', content: 'x'.repeat(1_000_000) }
  await assert.rejects(store.messages.append('s', big), StorageFullError)
  await limitPages(1_000_000)
  await store.messages.append('s', big)

  assert.equal(await store.messages.count('s'), 1)
})

test('appends asked for at once come in the order they were asked for', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })

  await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      n % 7 === 0
        ? store.transaction((tx) => tx.messages.append('s', { role: 'user', content: `${n}` }))
        : store.messages.append('s', { role: 'user', content: `${n}` }),
    ),
  )

  const contents = (await store.messages.list('s')).map(({ content }) => Number(content))
  assert.deepEqual(
    contents,
    [...contents].toSorted((a, b) => a - b),
  )
  assert.equal(contents.length, 300)
  await using again = await openStore({ path: store.path })
  assert.deepEqual(await again.maintenance.check(), [])
})

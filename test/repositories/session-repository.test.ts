import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError, SessionNotFoundError, type NewSession } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

test('makes an id of the local time when none is given', async (t) => {
  const store = await openTempStore(t)
  t.mock.method(Date, 'now', () => new Date(2026, 1, 3, 4, 5, 6).getTime())

  const ids = [
    await store.sessions.create({ source: 'cli' }),
    await store.sessions.create({ source: 'cli' }),
  ]

  for (const id of ids) assert.match(id, /^20260203_040506_[0-9a-f]{8}$/)
  assert.notEqual(ids[0], ids[1])
})

test('leaves a session alone that has the id already', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'a', source: 'cli' })
  const before = await store.sessions.get('a')

  assert.equal(await store.sessions.create({ id: 'a', source: 'x', model: 'm' }), 'a')
  assert.equal(await store.sessions.ensure('a', { parentSessionId: 'missing' }), 'a')

  assert.deepEqual(await store.sessions.get('a'), before)
})

test('names the parent that is missing, and writes nothing', async (t) => {
  const store = await openTempStore(t)

  const orphan = { id: 'a', source: 'cli', parentSessionId: 'missing' }
  await assert.rejects(store.sessions.create(orphan), (error: unknown) => {
    assert.ok(error instanceof SessionNotFoundError)
    assert.equal(error.sessionId, 'missing')
    return true
  })

  assert.equal(await store.sessions.find('a'), undefined)
})

test('throws for an unknown id only where the caller says there is one', async (t) => {
  const { sessions } = await openTempStore(t)

  await assert.rejects(sessions.get('missing'), SessionNotFoundError)
  await assert.rejects(sessions.get(''), SessionNotFoundError)
  assert.equal(await sessions.find('missing'), undefined)
  assert.equal(await sessions.find(''), undefined)
  assert.equal(await sessions.resolveId('missing'), undefined)
  await sessions.end('missing', 'x')
  await sessions.reopen('missing')
  await sessions.setSystemPrompt('missing', 'x')
  assert.equal(await sessions.count(), 0)
})

test('takes the only session for an empty beginning, and none of several', async (t) => {
  const { sessions } = await openTempStore(t)
  await sessions.create({ id: 'only', source: 'cli' })
  assert.equal(await sessions.resolveId(''), 'only')

  await sessions.create({ id: 'second', source: 'cli' })
  assert.equal(await sessions.resolveId(''), undefined)
  assert.equal(await sessions.resolveId('o\0'), undefined)
  assert.equal(await sessions.resolveId('x'.repeat(100_000)), undefined)
})

test('stores lone surrogates as U+FFFD and finds the session by either', async (t) => {
  const { sessions } = await openTempStore(t)

  const id = await sessions.create({ id: 'a\ud800', source: 'cli', systemPrompt: 'p\udc00' })

  assert.equal(id, 'a\u{fffd}')
  assert.equal((await sessions.get('a\ud800')).systemPrompt, 'p\u{fffd}')
})

test('refuses what a column cannot hold, naming the field', async (t) => {
  const store = await openTempStore(t)
  const refused: [string, object][] = [
    ['source', {}],
    ['source', { source: '' }],
    ['source', { source: null }],
    ['source', { source: 7 }],
    ['id', { id: '', source: 'cli' }],
    ['id', { id: 'a\0b', source: 'cli' }],
    ['id', { id: 7, source: 'cli' }],
    ['userId', { source: 'cli', userId: 7 }],
    ['model', { source: 'cli', model: {} }],
    ['systemPrompt', { source: 'cli', systemPrompt: ['x'] }],
    ['parentSessionId', { source: 'cli', parentSessionId: 1n }],
    ['modelConfig', { source: 'cli', modelConfig: 1n }],
  ]

  for (const [field, session] of refused) {
    const label = `${field} of ${Object.keys(session).join()}`
    await assert.rejects(store.sessions.create(session as NewSession), { field }, label)
  }
  await assert.rejects(store.sessions.create(null as unknown as NewSession), InvalidInputError)
  await assert.rejects(store.sessions.ensure('', {}), { field: 'id' })
  await assert.rejects(store.sessions.find(undefined as unknown as string), { field: 'id' })
  await assert.rejects(store.sessions.end('a', 7 as unknown as string), { field: 'reason' })
  await assert.rejects(store.sessions.count({ source: 7 as unknown as string }), {
    field: 'source',
  })
  assert.equal(await store.sessions.count(), 0)
})

test('refuses usage that is no number, and makes no session for it', async (t) => {
  const store = await openTempStore(t)
  const refused: [string, object][] = [
    ['inputTokens', { inputTokens: 1.5 }],
    ['outputTokens', { outputTokens: Number.NaN }],
    ['apiCallCount', { apiCallCount: '3' }],
    ['reasoningTokens', { reasoningTokens: 2 ** 60 }],
    ['estimatedCostUsd', { estimatedCostUsd: Number.POSITIVE_INFINITY }],
    ['actualCostUsd', { actualCostUsd: '0.1' }],
    ['costStatus', { costStatus: 7 }],
  ]

  for (const [field, usage] of refused) {
    await assert.rejects(store.sessions.addUsage('a', usage), { field })
    await assert.rejects(store.sessions.setUsage('a', usage), { field })
  }
  await assert.rejects(store.sessions.addUsage('', { inputTokens: 1 }), { field: 'sessionId' })
  await assert.rejects(store.sessions.addUsage('a', null as never), InvalidInputError)
  assert.equal(await store.sessions.count(), 0)
})

test('stores whole numbers, not fractions of them', async (t) => {
  const store = await openTempStore(t)

  await store.sessions.addUsage('a', { inputTokens: 3, apiCallCount: 1 })
  await store.sessions.addUsage('a', { inputTokens: 4 })

  const types = withFile(store.path, (db) =>
    db.prepare('select typeof(input_tokens), typeof(api_call_count) from sessions').raw().get(),
  )
  assert.deepEqual(types, ['integer', 'integer'])
  assert.equal((await store.sessions.get('a')).inputTokens, 7)
})

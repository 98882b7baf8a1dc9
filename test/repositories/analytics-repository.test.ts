import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'

import type { Store } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

test('sums usage by model, the dearest first, without sessions that have no model', async (t) => {
  const store = await openUsed(t)

  assert.deepEqual(await store.analytics.usageByModel(), [
    {
      model: 'big',
      sessions: 2,
      inputTokens: 110,
      outputTokens: 30,
      cacheReadTokens: 7,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      apiCallCount: 3,
      totalCostUsd: 0.75,
    },
    {
      model: 'small',
      sessions: 1,
      inputTokens: 1000,
      outputTokens: 1,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      apiCallCount: 0,
      totalCostUsd: 0.25,
    },
  ])
})

test('counts only the sessions of a source and a time', async (t) => {
  const { analytics } = await openUsed(t)
  const models = async (options: Parameters<typeof analytics.usageByModel>[0]) =>
    (await analytics.usageByModel(options)).map(({ model, sessions }) => [model, sessions])

  assert.deepEqual(await models({ source: 'telegram' }), [['small', 1]])
  assert.deepEqual(await models({ since: 2 }), [
    ['big', 1],
    ['small', 1],
  ])
  assert.deepEqual(await models({ until: 2 }), [['big', 1]])
  assert.deepEqual(await models({ since: 2, until: 2 }), [])
})

test('gives the sessions with the most tokens', async (t) => {
  const { analytics } = await openUsed(t)
  const top = async (options: Parameters<typeof analytics.topSessionsByTokens>[0]) =>
    (await analytics.topSessionsByTokens(options)).map(({ id, totalTokens }) => [id, totalTokens])

  assert.deepEqual(await top({}), [
    ['none', 5000],
    ['c', 1001],
    ['a', 130],
    ['b', 10],
    ['uncounted', 0],
  ])
  assert.deepEqual(await top({ limit: 1, source: 'cli' }), [['none', 5000]])
  assert.deepEqual(await top({ limit: 0 }), [])
})

test('refuses limits and times that are none', async (t) => {
  const { analytics } = await openTempStore(t)

  await assert.rejects(analytics.topSessionsByTokens({ limit: 1.5 }), { field: 'limit' })
  await assert.rejects(analytics.usageByModel({ since: Number.NaN }), { field: 'since' })
  await assert.rejects(analytics.usageByModel({ until: 'now' as never }), { field: 'until' })
  await assert.rejects(analytics.usageByModel({ source: 7 as never }), { field: 'source' })
})

async function openUsed(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  let now = 0
  t.mock.method(Date, 'now', () => (now += 1000))
  await store.sessions.create({ id: 'a', source: 'cli', model: 'big' })
  await store.sessions.create({ id: 'b', source: 'cli', model: 'big' })
  await store.sessions.create({ id: 'c', source: 'telegram', model: 'small' })
  await store.sessions.create({ id: 'none', source: 'cli' })
  await store.sessions.create({ id: 'uncounted', source: 'cli', model: '' })
  await store.sessions.addUsage('a', {
    inputTokens: 100,
    outputTokens: 30,
    cacheReadTokens: 7,
    estimatedCostUsd: 0.5,
    actualCostUsd: 9,
    apiCallCount: 3,
  })
  await store.sessions.addUsage('b', { inputTokens: 10, estimatedCostUsd: 0.25 })
  await store.sessions.addUsage('c', {
    inputTokens: 1000,
    outputTokens: 1,
    estimatedCostUsd: 0.25,
  })
  await store.sessions.addUsage('none', { inputTokens: 5000 })
  withFile(store.path, (db) => {
    db.exec(`update sessions set input_tokens = null where id = 'uncounted'`)
  })
  return store
}

import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError, SessionNotFoundError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

test('goes from request to claim to completion, one claim each', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  assert.deepEqual(await store.handoff.get('s'), { state: null, platform: null, error: null })

  assert.equal(await store.handoff.request('s', 'telegram'), true)
  assert.equal(await store.handoff.request('s', 'discord'), false)
  assert.deepEqual((await store.handoff.get('s')).platform, 'telegram')
  assert.equal(await store.handoff.claim('s'), true)
  assert.equal(await store.handoff.claim('s'), false)
  assert.equal(await store.handoff.request('s', 'discord'), false)
  await store.handoff.complete('s')

  assert.deepEqual(await store.handoff.get('s'), {
    state: 'completed',
    platform: 'telegram',
    error: null,
  })
  assert.equal(await store.handoff.request('s', 'discord'), true)
})

test('keeps the first 500 characters of an error until asked again', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  await store.handoff.request('s', 'telegram')

  await store.handoff.fail('s', '🚀'.repeat(600))
  const failed = await store.handoff.get('s')
  await store.handoff.request('s', 'telegram')
  const again = await store.handoff.get('s')

  assert.deepEqual(failed, { state: 'failed', platform: 'telegram', error: '🚀'.repeat(500) })
  assert.deepEqual(again, { state: 'pending', platform: 'telegram', error: null })
})

test('lists what is pending, oldest session first', async (t) => {
  const store = await openTempStore(t)
  let now = 0
  t.mock.method(Date, 'now', () => now)
  for (const [id, startedAt] of [
    ['young', 30],
    ['old', 10],
    ['claimed', 5],
    ['idle', 1],
  ] as const) {
    now = startedAt * 1000
    await store.sessions.create({ id, source: 'cli', systemPrompt: 'be kind' })
    if (id !== 'idle') await store.handoff.request(id, 'telegram')
  }
  await store.handoff.claim('claimed')

  const pending = await store.handoff.listPending()

  assert.deepEqual(
    pending.map((session) => session.id),
    ['old', 'young'],
  )
  assert.deepEqual(pending[0], await store.sessions.get('old'))
})

test('an unknown session is no error but for get', async (t) => {
  const store = await openTempStore(t)

  assert.equal(await store.handoff.request('nobody', 'telegram'), false)
  assert.equal(await store.handoff.claim('nobody'), false)
  await store.handoff.complete('nobody')
  await store.handoff.fail('nobody', 'why')
  assert.equal(await store.handoff.find('nobody'), undefined)
  await assert.rejects(store.handoff.get('nobody'), SessionNotFoundError)
})

test('refuses what is no text', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })

  for (const bad of [1, null, undefined, {}] as unknown as string[]) {
    await assert.rejects(store.handoff.request(bad, 'telegram'), InvalidInputError)
    await assert.rejects(store.handoff.request('s', bad), InvalidInputError)
    await assert.rejects(store.handoff.claim(bad), InvalidInputError)
    await assert.rejects(store.handoff.complete(bad), InvalidInputError)
    await assert.rejects(store.handoff.fail('s', bad), InvalidInputError)
    await assert.rejects(store.handoff.find(bad), InvalidInputError)
  }
  assert.equal((await store.handoff.get('s')).state, null)
})

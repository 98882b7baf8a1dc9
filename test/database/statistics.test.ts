import assert from 'node:assert/strict'
import { test } from 'node:test'

import { InvalidInputError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

test('stats() counts writes, failures and commits, and tells the size of the WAL', async (t) => {
  const store = await openTempStore(t)
  const before = store.stats()

  await store.sessions.ensure('s', { source: 'cli' })
  await Promise.all(
    [1, 2, 3].map((n) => store.messages.append('s', { role: 'user', content: `${n}` })),
  )
  await assert.rejects(store.messages.append('nobody', { role: 'user', content: 'lost' }))

  const stats = store.stats()
  assert.equal(stats.writes - before.writes, 4)
  assert.equal(stats.failedWrites - before.failedWrites, 1)
  assert.equal(stats.largestBatch, 3)
  assert.ok(stats.walBytes > 0)
  assert.deepEqual(stats.slowQueries, [])
})

test('slow statements are kept with their SQL and without their values', async (t) => {
  const store = await openTempStore(t, { slowQueryMs: 0 })

  await store.sessions.ensure('secret-session', { source: 'cli' })
  await store.sessions.find('secret-session')

  const { slowQueries } = store.stats()
  assert.ok(slowQueries.some(({ sql }) => sql.startsWith('select')))
  assert.ok(slowQueries.some(({ sql }) => sql.startsWith('insert')))
  assert.ok(slowQueries.length <= 50)
  assert.ok(!JSON.stringify(slowQueries).includes('secret-session'))
})

test('a threshold that is no time is refused', async (t) => {
  await assert.rejects(openTempStore(t, { slowQueryMs: -1 }), InvalidInputError)
})

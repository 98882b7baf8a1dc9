import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import test from 'node:test'

import { InvalidInputError, StoreClosedError, TransactionMisuseError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

const TEXTS: [stored: string | null, skips: boolean][] = [
  [null, false],
  ['', false],
  ['garbage', false],
  ['nan', false],
  ['-inf', false],
  ['0x7fffffff', false],
  ['1769990000', true],
  [' 1_769_990_000.5 ', true],
  ['1.76999e9', true],
  ['inf', true],
  ['+Infinity', true],
  ['1769000000', false],
]

test('reads the time of the last clean-up as Python does', async (t) => {
  const store = await openTempStore(t)
  t.mock.method(Date, 'now', () => 1_770_000_000_000)

  for (const [stored, skips] of TEXTS) {
    await store.meta.set('last_auto_prune', stored)
    const { skipped } = await store.maintenance.autoPrune()
    assert.equal(skipped, skips, String(stored))
  }
})

test('a clean-up that cannot be done says why instead of failing', async (t) => {
  const store = await openTempStore(t)
  await store.close()

  const { error, ...rest } = await store.maintenance.autoPrune()

  assert.ok(error instanceof StoreClosedError)
  assert.deepEqual(rest, { skipped: false, pruned: 0, vacuumed: false })
  await assert.rejects(store.maintenance.autoPrune({ retentionDays: -1 }), InvalidInputError)
  await assert.rejects(store.maintenance.autoPrune({ minIntervalHours: NaN }), InvalidInputError)
})

test('vacuum makes the file smaller, and writes asked for meanwhile are stored', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const content = 'words that fill some pages '.repeat(200)
  await store.messages.appendMany(
    's',
    Array.from({ length: 200 }, () => ({ role: 'user', content })),
  )
  await store.messages.clear('s')
  await store.maintenance.vacuum()
  const before = statSync(store.path).size

  await store.messages.appendMany(
    's',
    Array.from({ length: 200 }, () => ({ role: 'user', content })),
  )
  await store.messages.clear('s')
  const [, id] = await Promise.all([
    store.maintenance.vacuum(),
    store.messages.append('s', { role: 'user', content: 'meanwhile' }),
  ])

  assert.ok(statSync(store.path).size <= before + 65_536, `${statSync(store.path).size} bytes`)
  const messages = await store.messages.list('s')
  assert.deepEqual(
    messages.map((message) => [message.id, message.content]),
    [[id, 'meanwhile']],
  )
})

test('vacuum is refused inside a transaction', async (t) => {
  const store = await openTempStore(t)

  await assert.rejects(
    store.transaction(() => store.maintenance.vacuum()),
    TransactionMisuseError,
  )
})

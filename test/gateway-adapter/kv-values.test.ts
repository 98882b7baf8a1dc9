import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { grammyStorage } from '../../src/gateway-adapter/kv.ts'
import { InvalidInputError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'
import { all, stopClock } from './faces.ts'

test('a value is gone when its time is over, counted from the last write', async (t) => {
  const clock = stopClock(t)
  const store = await openTempStore(t)
  const storage = grammyStorage<string>(store, { namespace: 'n', ttlMs: 1000 })

  await storage.write('k', 'first')
  clock.forward(999)
  await storage.write('k', 'second')
  clock.forward(999)
  const before = await storage.read('k')
  clock.forward(1)
  const after = [await storage.read('k'), await storage.has('k')]

  assert.equal(before, 'second')
  assert.deepEqual(after, [undefined, false])
  assert.deepEqual(await all(storage.readAllKeys()), [])
})

test('what has expired leaves the file as others write, some of it each time', async (t) => {
  const clock = stopClock(t)
  const store = await openTempStore(t)
  const brief = grammyStorage<number>(store, { namespace: 'brief', ttlMs: 10 })
  for (let key = 0; key < 120; key += 1) await brief.write(String(key), key)
  const other = grammyStorage<number>(store, { namespace: 'other' })
  const rows = async () => {
    const query = store.db.selectFrom('store_key_values').select((eb) => eb.fn.countAll().as('n'))
    return (await query.executeTakeFirstOrThrow()).n
  }

  clock.forward(10)
  const counts: unknown[] = []
  for (let write = 0; write < 3; write += 1) {
    await other.write('k', write)
    counts.push(await rows())
  }

  assert.deepEqual(counts, [71, 21, 1])
})

test('any key that is text and any JSON value comes back as it was', async (t) => {
  const store = await openTempStore(t)
  const storage = grammyStorage<unknown>(store, { namespace: 'any ":" 🗝' })
  const value = fc.jsonValue({ stringUnit: 'binary' })
  const units = fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)),
  })

  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), value, units, async (key, json, text) => {
      await storage.write(key, { json, text, [text]: 1 })
      assert.deepEqual(await storage.read(key), { json, text, [text]: 1 })
    }),
    { numRuns: 60 },
  )
})

test('special numbers and keys with NUL, ":" and emoji are kept apart and right', async (t) => {
  const store = await openTempStore(t)
  const storage = grammyStorage<unknown>(store, { namespace: 'n' })
  const keys = [
    'a',
    'a\0',
    'a\0b',
    'a:b',
    '9007199254740993',
    '9007199254740992',
    '🗝',
    'ä',
    'a\u0308',
  ]

  for (const [index, key] of keys.entries()) await storage.write(key, [index, NaN, Infinity, -0])

  for (const [index, key] of keys.entries()) {
    assert.deepEqual(await storage.read(key), [index, NaN, Infinity, -0])
  }
})

test('what JSON would lose, and keys that would become another, are refused', async (t) => {
  const store = await openTempStore(t)
  const storage = grammyStorage<unknown>(store, { namespace: 'n' })
  const cycle: unknown[] = []
  cycle.push(cycle)
  const isRefused = (field: RegExp) => (error: unknown) =>
    error instanceof InvalidInputError && field.test(error.field)

  for (const value of [undefined, () => 1, { f: () => 1 }, new Map(), 1n, cycle]) {
    await assert.rejects(storage.write('k', value), isRefused(/^value/))
  }
  for (const key of ['\ud800', 'a\udfff']) {
    await assert.rejects(storage.write(key, 1), isRefused(/^key$/))
    await assert.rejects(storage.read(key), isRefused(/^key$/))
  }
  for (const ttlMs of [NaN, -1, Infinity]) {
    const bad = grammyStorage(store, { namespace: 'n', ttlMs })
    await assert.rejects(bad.write('k', 1), isRefused(/^ttlMs$/))
  }
  assert.deepEqual(await all(storage.readAllKeys()), [])
})

test('a megabyte in one value comes back', async (t) => {
  const store = await openTempStore(t)
  const storage = grammyStorage<string>(store, { namespace: 'n' })
  const text = 'ä'.repeat(1 << 20)

  await storage.write('k', text)

  assert.equal(await storage.read('k'), text)
})

import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

test('keeps the last value of each key', async (t) => {
  const store = await openTempStore(t)

  await store.meta.set('last_auto_prune', '1770000000.0')
  await store.meta.set('n', 5)
  await store.meta.set('n', 6.5)
  await store.meta.set('nul\0and 🚀', 'a\0b')
  await store.meta.set('nothing', null)

  assert.equal(await store.meta.get('last_auto_prune'), '1770000000.0')
  assert.equal(await store.meta.get('n'), '6.5')
  assert.equal(await store.meta.get('nul\0and 🚀'), 'a\0b')
  assert.equal(await store.meta.get('nothing'), null)
  assert.equal(await store.meta.get('never set'), null)
})

test('refuses keys and values that are no text', async (t) => {
  const store = await openTempStore(t)

  for (const key of ['', 1, null, undefined, {}]) {
    await assert.rejects(store.meta.get(key as string), InvalidInputError)
    await assert.rejects(store.meta.set(key as string, 'x'), InvalidInputError)
  }
  for (const value of [true, {}, [], Number.NaN, Infinity, 1n]) {
    await assert.rejects(store.meta.set('key', value as string), InvalidInputError)
  }
  assert.equal(await store.meta.get('key'), null)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Keyv, type KeyvBridgeStore } from 'keyv'

import { keyvStore } from '../../src/gateway-adapter/kv.ts'
import { openTempStore } from '../support/temp-store.ts'
import { all, stopClock } from './faces.ts'

// Checked by the compiler: it is what Keyv declares.
const asKeyvDeclares = (store: ReturnType<typeof keyvStore>): KeyvBridgeStore => store
void asKeyvDeclares

test('Keyv: values, ttl, many at once, deletes', async (t) => {
  const clock = stopClock(t)
  const store = await openTempStore(t)
  const keyv = new Keyv({ store: keyvStore(store, { namespace: 'keyv' }) })
  const errors: unknown[] = []
  keyv.on('error', (error) => errors.push(error))

  assert.equal(await keyv.set('forever', { a: [1, null, 'ä'] }), true)
  assert.equal(await keyv.set('brief', 1, 50), true)
  assert.deepEqual(
    await keyv.setMany([
      { key: 'x', value: 'X' },
      { key: 'y', value: 'Y', ttl: 50 },
    ]),
    [true, true],
  )

  assert.deepEqual(await keyv.get('forever'), { a: [1, null, 'ä'] })
  assert.equal(await keyv.get('missing'), undefined)
  assert.deepEqual(await keyv.getMany(['x', 'missing', 'y', 'brief']), ['X', undefined, 'Y', 1])
  assert.deepEqual(await keyv.hasMany(['x', 'missing']), [true, false])
  clock.forward(50)
  assert.deepEqual(await keyv.getMany(['x', 'y', 'brief']), ['X', undefined, undefined])
  assert.equal(await keyv.has('brief'), false)
  assert.equal(await keyv.delete('x'), true)
  assert.equal(await keyv.delete('x'), false)
  assert.deepEqual(await keyv.deleteMany(['forever', 'missing']), [true, false])
  assert.deepEqual(errors, [])
})

test('Keyv: the store itself forgets an expired value, without the check of Keyv', async (t) => {
  const clock = stopClock(t)
  const store = await openTempStore(t)
  const keyv = new Keyv({
    store: keyvStore(store, { namespace: 'keyv' }),
    checkExpired: false,
    serialization: false,
    ttl: 100,
  })

  await keyv.set('k', { v: 1 })
  const before = await keyv.get('k')
  clock.forward(100)

  assert.deepEqual(before, { v: 1 })
  assert.equal(await keyv.get('k'), undefined)
  assert.equal(await keyv.has('k'), false)
})

test('Keyv: two namespaces on one store see and clear only their own', async (t) => {
  const store = await openTempStore(t)
  const shared = keyvStore(store, { namespace: 'keyv' })
  const a = new Keyv({ store: shared, namespace: 'a' })
  const b = new Keyv({ store: shared, namespace: 'b' })
  for (let index = 0; index < 20; index += 1) await a.set(`k${index}`, index)
  await b.set('k1', 'of b')

  const pairs = await all(b.iterator())
  await a.clear()

  assert.deepEqual(pairs, [['k1', 'of b']])
  assert.equal(await a.get('k1'), undefined)
  assert.equal(await b.get('k1'), 'of b')
})

test('Keyv: clear empties a namespace of thousands', async (t) => {
  const store = await openTempStore(t)
  const keyv = new Keyv({ store: keyvStore(store, { namespace: 'big' }) })
  await keyv.setMany(
    Array.from({ length: 2500 }, (_, index) => ({ key: `${index}`, value: index })),
  )

  await keyv.clear()

  assert.deepEqual(await all(keyvStore(store, { namespace: 'big' }).iterator()), [])
})

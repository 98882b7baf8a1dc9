import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { StoreClosedError } from '../../src/index.ts'
import type { Store, StoreTransaction } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

async function put(tx: StoreTransaction, key: string, value = 'v'): Promise<void> {
  await tx.db.insertInto('state_meta').values({ key, value }).execute()
}

test('closing waits for the writes asked for and refuses the ones after', async (t) => {
  const store = await openTempStore(t)
  const writes = Array.from({ length: 20 }, (_, n) => store.transaction((tx) => put(tx, `${n}`)))

  const closing = store.close()

  await assert.rejects(
    store.transaction((tx) => put(tx, 'late')),
    StoreClosedError,
  )
  await Promise.all(writes)
  await closing
  assert.equal(
    withFile(store.path, (db) => db.prepare('select count(*) from state_meta').pluck().get()),
    20,
  )
})

test('closing twice, also at once, is harmless', async (t) => {
  const store = await openTempStore(t)

  await Promise.all([store.close(), store.close()])
  await store.close()
})

for (const [what, use] of [
  ['a query', (store: Store) => store.db.selectFrom('state_meta').select('key').execute()],
  ['a write', (store: Store) => store.transaction((tx) => put(tx, 'k'))],
  ['a read transaction', (store: Store) => store.db.transaction().execute(async () => {})],
] as const) {
  test(`${what} after closing is told`, async (t) => {
    const store = await openTempStore(t)
    await store.close()

    await assert.rejects(use(store), StoreClosedError)
  })
}

test('closing ends a check and a backup, and nobody holds the file or a part of a copy after it', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  const content = 'much to read '.repeat(1000)
  for (let n = 0; n < 5; n += 1) {
    const messages = Array.from({ length: 200 }, () => ({ role: 'user', content }))
    await store.messages.appendMany('s', messages)
  }
  const running = [
    store.maintenance.check(),
    store.maintenance.backup(`${store.path}.copy`),
    store.maintenance.check(),
  ]
  const refused = running.map((task) => assert.rejects(task, StoreClosedError))

  await store.close()

  await Promise.all(refused)
  assert.deepEqual(readdirSync(path.dirname(store.path)), [path.basename(store.path)])
})

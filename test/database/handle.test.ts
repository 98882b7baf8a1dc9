import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sql } from 'kysely'

import { TransactionHandle } from '../../src/database/handle.ts'
import { openTempStore } from '../support/temp-store.ts'
import type { Store } from '../../src/index.ts'

async function keysIn(store: Store): Promise<string[]> {
  const rows = await store.db.selectFrom('state_meta').select('key').orderBy('key').execute()
  return rows.map((row) => row.key)
}

/** Two rows, of which the second may break the unique key. */
function putTwo(handle: TransactionHandle, first: string, second: string): Promise<void> {
  return handle.write(async (trx) => {
    for (const key of [first, second]) {
      await trx.insertInto('state_meta').values({ key, value: 'v' }).execute()
    }
  })
}

test('a write whose error is caught leaves nothing half done, and the rest stands', async (t) => {
  const store = await openTempStore(t)

  await store.transaction(async ({ db }) => {
    const handle = new TransactionHandle(db)
    await putTwo(handle, 'a', 'b')
    await assert.rejects(putTwo(handle, 'c', 'a'), { name: 'ConstraintError' })
    await putTwo(handle, 'd', 'e')
  })

  assert.deepEqual(await keysIn(store), ['a', 'b', 'd', 'e'])
})

test('writes started together do not mix', async (t) => {
  const store = await openTempStore(t)

  const results = await store.transaction(({ db }) => {
    const handle = new TransactionHandle(db)
    return Promise.allSettled([
      putTwo(handle, 'a', 'b'),
      putTwo(handle, 'c', 'a'),
      putTwo(handle, 'd', 'e'),
      putTwo(handle, 'f', 'f'),
    ])
  })

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  assert.deepEqual(await keysIn(store), ['a', 'b', 'd', 'e'])
})

test('an uncaught error takes back the writes before it', async (t) => {
  const store = await openTempStore(t)

  const failing = store.transaction(async ({ db }) => {
    const handle = new TransactionHandle(db)
    await putTwo(handle, 'a', 'b')
    await putTwo(handle, 'c', 'a')
  })

  await assert.rejects(failing, { name: 'ConstraintError' })
  assert.deepEqual(await keysIn(store), [])
})

test('the error of a full file is what the caller sees, not that its savepoint is gone', async (t) => {
  const store = await openTempStore(t)

  const filling = store.transaction(async ({ db }) => {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
    await sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + 2}`).execute(db)
    await new TransactionHandle(db).write(async (trx) => {
      await trx
        .insertInto('state_meta')
        .values({ key: 'k', value: 'x'.repeat(1e5) })
        .execute()
    })
  })

  await assert.rejects(filling, { name: 'StorageFullError' })
})

test('a write asked for inside a write is refused, not waited for', async (t) => {
  const store = await openTempStore(t)

  const nesting = store.transaction(async ({ db }) => {
    const handle = new TransactionHandle(db)
    await handle.write(() => putTwo(handle, 'a', 'b'))
  })

  await assert.rejects(nesting, { name: 'TransactionMisuseError' })
})

test('reads inside the transaction see its writes', async (t) => {
  const store = await openTempStore(t)

  await store.transaction(async ({ db }) => {
    const handle = new TransactionHandle(db)
    await putTwo(handle, 'a', 'b')
    const { rows } = await sql`select key from state_meta`.execute(handle.read)
    assert.equal(rows.length, 2)
  })
})

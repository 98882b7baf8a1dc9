import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'

import { sql } from 'kysely'

import {
  InvalidInputError,
  openStore,
  StorageFullError,
  TransactionMisuseError,
} from '../../src/index.ts'
import type { Store, StoreTransaction } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

async function put(tx: StoreTransaction, key: string, value = 'v'): Promise<void> {
  await tx.db.insertInto('state_meta').values({ key, value }).execute()
}

async function keysIn(store: Store): Promise<string[]> {
  const rows = await store.db.selectFrom('state_meta').select('key').orderBy('key').execute()
  return rows.map((row) => row.key)
}

test('a write after a read stands although another store wrote in between', async (t) => {
  const store = await openTempStore(t)
  await using other = await openStore({ path: store.path, retry: { retries: 0 } })

  // Under a deferred BEGIN the other commit would come between: SQLITE_BUSY_SNAPSHOT at once.
  const writing = store.transaction(async (tx) => {
    await tx.db.selectFrom('state_meta').select('key').execute()
    await assert.rejects(
      other.transaction((tx2) => put(tx2, 'b')),
      { name: 'DatabaseBusyError' },
    )
    await put(tx, 'a')
  })

  await writing
  await other.transaction((tx) => put(tx, 'b'))
  assert.deepEqual(await keysIn(store), ['a', 'b'])
})

test('a failing callback takes back everything, tables included', async (t) => {
  const store = await openTempStore(t)

  const failing = store.transaction(async (tx) => {
    await put(tx, 'a')
    await tx.db.schema.createTable('store_trial').addColumn('id', 'integer').execute()
    throw new Error('changed my mind')
  })

  await assert.rejects(failing, { message: 'changed my mind' })
  assert.deepEqual(await keysIn(store), [])
  assert.equal(
    withFile(store.path, (db) =>
      db.prepare(`select 1 from sqlite_master where name = 'store_trial'`).get(),
    ),
    undefined,
  )
})

test('what the callback returns is the result', async (t) => {
  const store = await openTempStore(t)

  assert.equal(await store.transaction(async () => 42), 42)
})

test('a full file is told as that, nothing is kept, and the store goes on', async (t) => {
  const store = await openTempStore(t)

  const filling = store.transaction(async (tx) => {
    await put(tx, 'before')
    await limitPages(tx, 3)
    await put(tx, 'big', 'x'.repeat(100_000))
  })

  await assert.rejects(filling, StorageFullError)
  await store.transaction((tx) => limitPages(tx, 100_000))
  await store.transaction((tx) => put(tx, 'after', 'x'.repeat(100_000)))
  assert.deepEqual(await keysIn(store), ['after'])
})

test('a transaction that a full file has ended stores nothing more, though its error was caught', async (t) => {
  const store = await openTempStore(t)

  const filling = store.transaction(async (tx) => {
    await limitPages(tx, 3)
    await put(tx, 'big', 'x'.repeat(100_000)).catch(() => {})
    await put(tx, 'small')
  })

  await assert.rejects(filling)
  await store.transaction((tx) => limitPages(tx, 100_000))
  assert.deepEqual(await keysIn(store), [])
})

/** So many pages more than the file has. */
async function limitPages(tx: StoreTransaction, more: number): Promise<void> {
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(tx.db)
  await sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + more}`).execute(tx.db)
}

for (const [what, use] of [
  ['a query', (store: Store) => store.db.selectFrom('sessions').select('id').execute()],
  ['a transaction', (store: Store) => store.transaction(async () => {})],
  ['a read transaction', (store: Store) => store.db.transaction().execute(async () => {})],
  ['closing', (store: Store) => store.close()],
] as const) {
  test(`${what} on the store itself inside a transaction is refused, not waited for`, async (t) => {
    const store = await openTempStore(t)

    await assert.rejects(
      store.transaction(async () => void (await use(store))),
      TransactionMisuseError,
    )

    await store.transaction((tx) => put(tx, 'a'))
    assert.deepEqual(await keysIn(store), ['a'])
  })
}

test('what was started inside a transaction may use the store after it', async (t) => {
  const store = await openTempStore(t)
  let later: Promise<string[]> | undefined
  const ended = Promise.withResolvers<undefined>()

  await store.transaction(async (tx) => {
    await put(tx, 'a')
    later = ended.promise.then(() => keysIn(store))
  })
  ended.resolve(undefined)

  assert.deepEqual(await later, ['a'])
})

for (const outcome of ['committed', 'rolled back']) {
  test(`whatever is asked of a transaction that was ${outcome} is refused by name`, async (t) => {
    const store = await openTempStore(t)
    await store.sessions.create({ id: 's', source: 'cli' })
    let kept: StoreTransaction | undefined
    await store
      .transaction(async (tx) => {
        kept = tx
        if (outcome === 'rolled back') throw new Error('changed my mind')
      })
      .catch(() => {})
    const tx = kept!

    for (const late of [
      () => put(tx, 'late'),
      () => tx.messages.append('s', { role: 'user', content: 'late' }),
      () => tx.messages.list('s'),
      () => tx.sessions.get('s'),
      () => tx.search.messages('late'),
      () => tx.exports.all().next(),
      () => tx.db.selectFrom('sessions').select('id').stream().next(),
      () => sql`select 1`.execute(tx.db),
      () => tx.db.introspection.getTables(),
      () => tx.db.withSchema('main').selectFrom('sessions').select('id').execute(),
    ]) {
      await assert.rejects(async () => late(), TransactionMisuseError, String(late))
    }

    assert.deepEqual(await keysIn(store), [])
    assert.equal(await store.messages.count(), 0)
  })
}

test('a transaction that was kept does not slip into the next write of the same commit', async (t) => {
  const store = await openTempStore(t)
  const kept = Promise.withResolvers<StoreTransaction>()
  const tried = Promise.withResolvers<undefined>()
  // Outside of every callback, so that only the transaction itself can tell.
  const late = kept.promise.then((tx) => put(tx, 'late')).finally(() => tried.resolve(undefined))
  late.catch(() => {})

  await Promise.all([
    store.transaction(async (tx) => {
      await put(tx, 'a')
      setImmediate(() => kept.resolve(tx))
    }),
    store.transaction(async (tx) => {
      await tried.promise
      await put(tx, 'b')
    }),
  ])

  await assert.rejects(late, TransactionMisuseError)
  assert.deepEqual(await keysIn(store), ['a', 'b'])
})

test('a transaction with a write nobody awaited stores nothing and says so', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  let loose: Promise<unknown> | undefined

  const transaction = store.transaction(async (tx) => {
    await put(tx, 'a')
    loose = tx.messages.append('s', { role: 'user', content: 'loose' })
    loose.catch(() => {})
  })

  await assert.rejects(transaction, TransactionMisuseError)
  await assert.rejects(loose!, TransactionMisuseError)
  assert.deepEqual(await keysIn(store), [])
  const { messageCount } = await store.sessions.get('s')
  assert.deepEqual([await store.messages.count('s'), messageCount], [0, 0])
})

test("Kysely's own ways to begin, lend and close are refused by name", async (t) => {
  const store = await openTempStore(t)

  for (const misuse of [
    (tx: StoreTransaction) => tx.db.transaction(),
    (tx: StoreTransaction) => tx.db.startTransaction(),
    (tx: StoreTransaction) => tx.db.connection(),
    (tx: StoreTransaction) => tx.db.destroy(),
    () => store.db.destroy(),
  ]) {
    const misused = store.transaction(async (tx) => misuse(tx))
    await assert.rejects(misused, TransactionMisuseError, String(misuse))
  }

  await store.transaction((tx) => put(tx, 'a'))
  assert.deepEqual(await keysIn(store), ['a'])
})

test('closing store.db is refused, and the store goes on', async (t) => {
  const store = await openTempStore(t)
  await keysIn(store)

  await assert.rejects(store.db.destroy(), TransactionMisuseError)

  assert.deepEqual(await keysIn(store), [])
})

test('work that is no function is refused', async (t) => {
  const store = await openTempStore(t)

  for (const work of [undefined, null, 5, 'x', {}, []]) {
    await assert.rejects(store.transaction(work as never), InvalidInputError)
  }
})

test('a query nobody awaited does not slip in after its transaction', async (t) => {
  const store = await openTempStore(t)
  const loose: { late?: Promise<unknown> } = {}

  await store.transaction(async (tx) => {
    loose.late = new Promise((resolve) => void setTimeout(resolve, 20)).then(() => put(tx, 'late'))
    loose.late.catch(() => {})
  })

  await assert.rejects(loose.late!, TransactionMisuseError)
  assert.deepEqual(await keysIn(store), [])
})

test('a query nobody awaited does not slip into the next write of the same commit', async (t) => {
  const store = await openTempStore(t)
  const next = Promise.withResolvers<undefined>()
  let late: Promise<void> | undefined

  await Promise.all([
    store.transaction(async (tx) => {
      await put(tx, 'a')
      late = next.promise.then(() => put(tx, 'late'))
      late.catch(() => {})
    }),
    store.transaction(async (tx) => {
      next.resolve(undefined)
      await late?.catch(() => {})
      await put(tx, 'b')
    }),
  ])

  await assert.rejects(late!, TransactionMisuseError)
  assert.deepEqual(await keysIn(store), ['a', 'b'])
})

test('each write of a commit runs in the asynchronous context of who asked for it', async (t) => {
  const store = await openTempStore(t)
  const chat = new AsyncLocalStorage<string>()
  const ask = (name: string): Promise<string | undefined> =>
    chat.run(name, () =>
      store.transaction(async (tx) => {
        await put(tx, name)
        return chat.getStore()
      }),
    )

  const seen = await Promise.all(['alice', 'bob', 'carol'].map(ask))

  assert.deepEqual(seen, ['alice', 'bob', 'carol'])
})

test('a write that caught the error of a full file is not taken for stored, its neighbours are', async (t) => {
  const store = await openTempStore(t)

  const results = await Promise.allSettled([
    store.transaction((tx) => put(tx, 'a')),
    store.transaction(async (tx) => {
      await limitPages(tx, 3)
      await put(tx, 'big', 'x'.repeat(100_000)).catch(() => {})
      await put(tx, 'small').catch(() => {})
    }),
    store.transaction((tx) => put(tx, 'b')),
  ])

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await keysIn(store), ['a', 'b'])
})

test('writes asked for at once are stored in that order', async (t) => {
  const store = await openTempStore(t)

  await Promise.all(
    Array.from({ length: 300 }, (_, n) => store.transaction((tx) => put(tx, String(n)))),
  )

  const rows = await store.db
    .selectFrom('state_meta')
    .select('key')
    .orderBy(sql`rowid`)
    .execute()
  assert.deepEqual(
    rows.map((row) => row.key),
    Array.from({ length: 300 }, (_, n) => String(n)),
  )
})

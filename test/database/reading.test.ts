import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'

import { sql } from 'kysely'

import {
  CannotOpenError,
  InvalidInputError,
  ReadonlyError,
  StoreClosedError,
} from '../../src/index.ts'
import type { Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

async function fill(store: Store, rows: number): Promise<void> {
  await store.transaction(async (tx) => {
    for (let n = 0; n < rows; n += 1) {
      await tx.db
        .insertInto('state_meta')
        .values({ key: `${n}`.padStart(6, '0'), value: 'v' })
        .execute()
    }
  })
}

async function count(db: Store['db']): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from state_meta`.execute(db)
  return rows[0]?.n ?? -1
}

for (const [what, statement] of [
  ['an insert', `insert into state_meta (key) values ('x')`],
  ['a delete', 'delete from state_meta'],
  ['a new table', 'create table store_x (id)'],
  ['a returning update', `update state_meta set value = 'x' returning key`],
] as const) {
  test(`${what} on store.db is refused`, async (t) => {
    const store = await openTempStore(t)

    await assert.rejects(sql.raw(statement).execute(store.db), (error: Error) => {
      return error instanceof ReadonlyError && /transaction\(\)/.test(error.message)
    })
  })
}

test('while a stream is read the same store reads and writes', async (t) => {
  const store = await openTempStore(t)
  await fill(store, 50)
  const seen: string[] = []

  for await (const { key } of store.db
    .selectFrom('state_meta')
    .select('key')
    .orderBy('key')
    .stream()) {
    seen.push(key)
    if (seen.length % 10 !== 0) continue
    await store.transaction(async (tx) => {
      await tx.db
        .insertInto('state_meta')
        .values({ key: `9${key}`, value: 'new' })
        .execute()
    })
    assert.equal(await count(store.db), 50 + seen.length / 10)
  }

  // The stream is one snapshot: what was written meanwhile is not in it.
  assert.equal(seen.length, 50)
  assert.equal(await count(store.db), 55)
})

test('many streams run beside each other, and one left early lets go', async (t) => {
  const store = await openTempStore(t)
  await fill(store, 20)
  const query = store.db.selectFrom('state_meta').select('key').orderBy('key')

  const read = async (limit: number): Promise<number> => {
    let rows = 0
    for await (const _row of query.stream()) {
      rows += 1
      await nextTurn()
      if (rows === limit) break
    }
    return rows
  }
  const counts = await Promise.all([read(99), read(3), read(99), read(1), read(99)])

  assert.deepEqual(counts, [20, 3, 20, 1, 20])
})

test('closing under a stream does not hang, and the stream ends or fails by name', async (t) => {
  const store = await openTempStore(t)
  await fill(store, 20)
  const stream = store.db.selectFrom('state_meta').select('key').stream()[Symbol.asyncIterator]()
  await stream.next()

  await store.close()

  let rows = 1
  while (!(await stream.next()).done) rows += 1
  assert.equal(rows, 20)
  await assert.rejects(count(store.db), StoreClosedError)
})

test('a read transaction sees one state of the file', async (t) => {
  const store = await openTempStore(t)
  await fill(store, 5)

  await store.db.transaction().execute(async (trx) => {
    assert.equal(await count(trx), 5)
    await store.transaction(async (tx) => {
      await tx.db.deleteFrom('state_meta').execute()
    })
    assert.equal(await count(trx), 5)
  })

  assert.equal(await count(store.db), 0)
})

test('a write in a read transaction is refused', async (t) => {
  const store = await openTempStore(t)

  const writing = store.db
    .transaction()
    .execute((trx) => trx.deleteFrom('state_meta').executeTakeFirst())

  await assert.rejects(writing, ReadonlyError)
})

test('a read transaction that is open while the store closes fails by name', async (t) => {
  const store = await openTempStore(t)
  const closed = Promise.withResolvers<undefined>()

  const reading = store.db.transaction().execute(async (trx) => {
    await count(trx)
    await closed.promise
    return count(trx)
  })
  await nextTurn()
  await store.close()
  closed.resolve(undefined)

  // Its connection lives until it comes back.
  assert.equal(await reading, 0)
})

test('what needs a connection of its own says so by name when the file has gone', async (t) => {
  const store = await openTempStore(t)
  rmSync(store.path)

  const inTransaction = store.db.transaction().execute(async (trx) => count(trx))
  const streaming = store.db.selectFrom('sessions').select('id').stream().next()

  await assert.rejects(inTransaction, CannotOpenError)
  await assert.rejects(streaming, CannotOpenError)
})

test('fifty thousand selects leave memory as it was', async (t) => {
  const store = await openTempStore(t)
  await fill(store, 10)
  const select = store.db.selectFrom('state_meta').select('value')
  const selects = async (times: number): Promise<number> => {
    for (let n = 0; n < times; n += 1) await select.where('key', '=', `${n % 10}`).execute()
    return process.memoryUsage().rss
  }

  const before = await selects(5_000)
  const after = await selects(50_000)

  const growth = (after - before) / 1024 ** 2
  assert.ok(growth < 100, `${growth.toFixed()} MB more`)
})

test('more statements than are kept at hand are all answered', async (t) => {
  const store = await openTempStore(t)

  for (let n = 0; n < 1000; n += 1) {
    const { rows } = await sql.raw<{ n: number }>(`select ${n} as n`).execute(store.db)
    assert.equal(rows[0]?.n, n)
  }
})

test('a column that another program adds is seen by a statement that was run before', async (t) => {
  const store = await openTempStore(t)
  await fill(store, 1)
  const all = sql<{ key: string; extra?: string }>`select * from state_meta`
  await all.execute(store.db)

  await store.transaction(async (tx) => {
    await sql`alter table state_meta add column extra TEXT default 'new'`.execute(tx.db)
  })

  const { rows } = await all.execute(store.db)
  assert.deepEqual(rows, [{ key: '000000', value: 'v', extra: 'new' }])
})

test('a value that SQLite cannot take is told as wrong input', async (t) => {
  const store = await openTempStore(t)

  for (const value of [true, new Date(), {}, 2n ** 70n]) {
    await assert.rejects(
      store.transaction(async (tx) => {
        await sql`insert into state_meta (key, value) values ('k', ${value})`.execute(tx.db)
      }),
      InvalidInputError,
    )
  }
})

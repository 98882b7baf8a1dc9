import assert from 'node:assert/strict'
import { test } from 'node:test'

import SqliteDatabase from 'better-sqlite3'
import * as fc from 'fast-check'
import { sql } from 'kysely'

import type { StoreDatabase } from '../../src/database/store-database.ts'
import { ConstraintError, DatabaseBusyError, StorageFullError } from '../../src/index.ts'
import { openTempDatabase } from '../support/open-database.ts'

/** What one write does in the property: most of the ways in which a write can end. */
type Kind =
  | 'store'
  | 'throw at once'
  | 'throw later'
  | 'break a rule'
  | 'catch a broken rule'
  | 'fill'

const kinds: readonly Kind[] = [
  'store',
  'throw at once',
  'throw later',
  'break a rule',
  'catch a broken rule',
  'fill',
]

class OwnError extends Error {}

function put(database: StoreDatabase, key: string, kind: Kind): Promise<string> {
  return database.write(async (trx) => {
    if (kind === 'throw at once') throw new OwnError(key)
    const insert = (value: string) =>
      trx.insertInto('state_meta').values({ key, value }).executeTakeFirst()
    await insert(kind === 'fill' ? 'x'.repeat(4_000_000) : kind)
    if (kind === 'throw later') throw new OwnError(key)
    if (kind === 'break a rule') await insert('twice')
    if (kind === 'catch a broken rule') await insert('twice').catch(() => undefined)
    return key
  })
}

async function keys(database: StoreDatabase): Promise<string[]> {
  const rows = await database.read
    .selectFrom('state_meta')
    .select(['key'])
    .where('key', 'like', 'k%')
    .orderBy(sql`rowid`)
    .execute()
  return rows.map(({ key }) => key)
}

test('each write is stored or rejected by itself, in the order it was asked for', async (t) => {
  const database = await openTempDatabase(t, { maxPages: 800 })
  let run = 0

  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 40 }),
      async (writes) => {
        run += 1
        const names = writes.map((_, n) => `k${run}-${n}`)

        const outcomes = await Promise.allSettled(
          writes.map((kind, n) => put(database, names[n]!, kind)),
        )

        outcomes.forEach((outcome, n) => {
          const kind = writes[n]!
          const error: unknown = outcome.status === 'rejected' ? outcome.reason : undefined
          if (kind === 'store' || kind === 'catch a broken rule') assert.equal(error, undefined)
          else if (kind === 'fill') assert.ok(error instanceof StorageFullError)
          else if (kind === 'break a rule') assert.ok(error instanceof ConstraintError)
          else assert.ok(error instanceof OwnError)
        })
        const stored = names.filter((_, n) => outcomes[n]!.status === 'fulfilled')
        assert.deepEqual(
          (await keys(database)).filter((key) => names.includes(key)),
          stored,
        )
      },
    ),
    { numRuns: 40 },
  )
})

test('writes asked for at the same moment share transactions', async (t) => {
  const database = await openTempDatabase(t)

  await Promise.all(Array.from({ length: 300 }, (_, n) => put(database, `k${n}`, 'store')))

  const { writes, commits, largestBatch } = database.statistics.snapshot()
  assert.equal(writes, 300)
  assert.ok(commits < 30, `${commits} commits`)
  assert.ok(largestBatch <= 128)
})

test('a transaction takes no more writes once it has held the lock for long', async (t) => {
  const database = await openTempDatabase(t)
  const slowPut = (key: string) =>
    database.write(async (trx) => {
      await trx.insertInto('state_meta').values({ key, value: '' }).execute()
      const end = performance.now() + 30
      while (performance.now() < end);
    })

  await Promise.all(Array.from({ length: 8 }, (_, n) => slowPut(`k${n}`)))

  const { writes, largestBatch } = database.statistics.snapshot()
  assert.equal(writes, 8)
  assert.ok(largestBatch <= 2, `${largestBatch} in one transaction`)
  assert.deepEqual(
    await keys(database),
    Array.from({ length: 8 }, (_, n) => `k${n}`),
  )
})

test('a batch that met a lock is run again as a whole, and stored once', async (t) => {
  const database = await openTempDatabase(t)
  const other = new SqliteDatabase(database.path)
  t.after(() => other.close())
  other.exec('begin immediate')

  const writes = Promise.all(Array.from({ length: 20 }, (_, n) => put(database, `k${n}`, 'store')))
  while (database.statistics.snapshot().retries === 0) await new Promise(setImmediate)
  other.exec('commit')
  await writes

  assert.equal((await keys(database)).length, 20)
})

test('when patience ends every write of the batch is told, and nothing is stored', async (t) => {
  const database = await openTempDatabase(t, { retry: { retries: 1, maxMs: 20 } })
  const other = new SqliteDatabase(database.path)
  t.after(() => other.close())
  other.exec('begin immediate')

  const outcomes = await Promise.allSettled(['k1', 'k2'].map((key) => put(database, key, 'store')))
  other.exec('commit')

  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof DatabaseBusyError)
  }
  assert.deepEqual(await keys(database), [])
  await put(database, 'k3', 'store')
})

test('no promise resolves before the COMMIT that carries it', async (t) => {
  const database = await openTempDatabase(t)
  const other = new SqliteDatabase(database.path, { readonly: true })
  t.after(() => other.close())
  const isThere = other.prepare('select 1 from state_meta where key = ?')

  await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      await put(database, `k${n}`, 'store')
      assert.ok(isThere.get(`k${n}`), `k${n} was acknowledged too early`)
    }),
  )
})

test('writes before a vacuum are in, writes after it wait and are stored', async (t) => {
  const database = await openTempDatabase(t)

  const order: string[] = []
  await Promise.all([
    put(database, 'k1', 'store').then(() => order.push('before')),
    database.vacuum().then(() => order.push('vacuum')),
    put(database, 'k2', 'store').then(() => order.push('after')),
  ])

  assert.deepEqual(order, ['before', 'vacuum', 'after'])
  assert.deepEqual(await keys(database), ['k1', 'k2'])
})

test('close() lets the writes already asked for finish', async (t) => {
  const database = await openTempDatabase(t)

  const writes = Promise.all(Array.from({ length: 500 }, (_, n) => put(database, `k${n}`, 'store')))
  await database.close()

  assert.equal((await writes).length, 500)
  await assert.rejects(put(database, 'k501', 'store'), { code: 'STORE_CLOSED' })
})

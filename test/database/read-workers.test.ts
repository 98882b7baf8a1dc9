import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { sql } from 'kysely'

import type { StoreDatabase } from '../../src/database/store-database.ts'
import {
  DatabaseError,
  InvalidInputError,
  ReadonlyError,
  ReadWorkerError,
  StoreClosedError,
  TransactionMisuseError,
} from '../../src/index.ts'
import { startNode } from '../support/child.ts'
import { openTempDatabase } from '../support/open-database.ts'
import { tempFolder } from '../support/temp-store.ts'
import { startedWorkers } from '../support/worker-threads.ts'

/** Too big to be read in the main thread. */
const BIG = { bytes: 5_000_000 }

/** Takes long enough to be met under way, and makes a row now and then. */
const slow = sql<{ n: number }>`
  with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 1500000)
  select n from numbers where n % 1000 = 0
`

function start(database: StoreDatabase, signal?: AbortSignal) {
  return database.heavy.executeQuery(slow.compile(database.heavy), signal && { signal })
}

test('a long read in a big file leaves the event loop free', async (t) => {
  const database = await openTempDatabase(t, BIG)
  const reading = new AbortController()
  let turns = 0

  const counting = (async () => {
    for (; !reading.signal.aborted; turns += 1) await nextTurn()
  })()
  const { rows } = await start(database)
  reading.abort()
  await counting

  assert.equal(rows.length, 1500)
  assert.ok(turns > 10, `${turns} turns`)
})

test('no worker is started before a big file is read, and none for a small file', async (t) => {
  const workers = startedWorkers(t)
  const small = await openTempDatabase(t)
  const big = await openTempDatabase(t, BIG)

  await sql`select 1`.execute(small.heavy)
  await sql`select 1`.execute(big.read)
  const before = workers.length
  await sql`select 1`.execute(big.heavy)
  await sql`select 1`.execute(big.heavy)

  assert.equal(before, 0)
  assert.equal(workers.length, 1)
})

test('two workers at most share many reads', async (t) => {
  const workers = startedWorkers(t)
  const database = await openTempDatabase(t, BIG)

  const results = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      sql<{ n: number }>`select ${n} as n`.execute(database.heavy),
    ),
  )

  assert.deepEqual(
    results.map((result) => result.rows[0]?.n),
    Array.from({ length: 40 }, (_, n) => n),
  )
  assert.equal(workers.length, 2)
})

test('an error from a worker has the class and the code it has in the main thread', async (t) => {
  const database = await openTempDatabase(t, BIG)

  await assert.rejects(sql`select 1 from nowhere`.execute(database.heavy), (error) => {
    assert.ok(error instanceof DatabaseError)
    assert.equal(error.sqliteCode, 'SQLITE_ERROR')
    assert.match(error.message, /no such table: nowhere/)
    return true
  })
  await assert.rejects(sql`delete from sessions`.execute(database.heavy), ReadonlyError)
  await assert.rejects(sql`select ${true}`.execute(database.heavy), InvalidInputError)
})

test('transactions and streams are refused: a worker runs single statements', async (t) => {
  const database = await openTempDatabase(t)

  await assert.rejects(
    database.heavy.transaction().execute(async () => undefined),
    TransactionMisuseError,
  )
  await assert.rejects(
    database.heavy.selectFrom('sessions').select('id').stream().next(),
    TransactionMisuseError,
  )
})

test('an abort rejects the read with its reason, and the next read finds a worker', async (t) => {
  const database = await openTempDatabase(t, BIG)
  const controllers = Array.from({ length: 5 }, () => new AbortController())
  const reason = new Error('the user walked away')

  const reads = controllers.map(({ signal }) => start(database, signal))
  const outcomes = Promise.allSettled(reads)
  await sql`select 1`.execute(database.read)
  for (const controller of controllers) controller.abort(reason)

  for (const outcome of await outcomes) {
    assert.equal(outcome.status === 'rejected' && outcome.reason, reason)
  }
  assert.equal((await start(database)).rows.length, 1500)
})

test('an abort before the start reads nothing', async (t) => {
  const workers = startedWorkers(t)
  const database = await openTempDatabase(t, BIG)

  await assert.rejects(start(database, AbortSignal.abort()), { name: 'AbortError' })

  assert.equal(workers.length, 0)
})

test('a worker that dies is replaced and its read is run again', async (t) => {
  const workers = startedWorkers(t)
  const database = await openTempDatabase(t, BIG)
  await sql`select 1`.execute(database.heavy)

  const reading = start(database)
  await workers[0]?.terminate()

  assert.equal((await reading).rows.length, 1500)
  assert.equal(workers.length, 2)
})

test('a read whose workers die twice fails with a typed error', async (t) => {
  const workers = startedWorkers(t)
  const database = await openTempDatabase(t, BIG)
  await sql`select 1`.execute(database.heavy)

  const failed = assert.rejects(start(database), ReadWorkerError)
  await workers[0]?.terminate()
  const second = workers[1]!
  await new Promise((resolve) => second.once('message', resolve))
  await second.terminate()

  await failed
  assert.equal((await start(database)).rows.length, 1500)
})

test('close() rejects what still reads and leaves no WAL behind', async (t) => {
  const database = await openTempDatabase(t, BIG)

  const reading = assert.rejects(start(database), StoreClosedError)
  await database.close()

  await reading
  await assert.rejects(sql`select 1`.execute(database.heavy), StoreClosedError)
  assert.ok(!fs.existsSync(`${database.path}-wal`))
})

test('a read of the store itself is refused inside a write', async (t) => {
  const database = await openTempDatabase(t, BIG)

  const write = database.write(async () => {
    await sql`select 1`.execute(database.heavy)
  })

  await assert.rejects(write, TransactionMisuseError)
})

const child = path.join(import.meta.dirname, '../support/heavy-child.ts')

test('idle workers do not keep the process alive', async (t) => {
  const { path: file } = await openTempDatabase(t, BIG)

  await using running = startNode(child, [file])
  const { code } = await running.exited

  assert.equal(code, 0, running.stderr)
  assert.deepEqual(JSON.parse(running.stdout), { rows: 1, workers: 1, warnings: 0 })
})

test('where worker threads are forbidden the main thread reads, with one warning', async (t) => {
  const { path: file } = await openTempDatabase(t, BIG)

  await using running = startNode('--permission', [
    '--allow-addons',
    '--allow-fs-read=*',
    '--allow-fs-write=*',
    '--no-warnings',
    child,
    file,
  ])
  const { code } = await running.exited

  assert.equal(code, 0, running.stderr)
  assert.deepEqual(JSON.parse(running.stdout), { rows: 1, workers: 0, warnings: 1 })
})

test('a path that is no longer there is an error of the read, not of the worker', async (t) => {
  const database = await openTempDatabase(t, BIG)
  const elsewhere = path.join(tempFolder(t), 'moved.db')
  fs.renameSync(database.path, elsewhere)
  fs.writeFileSync(database.path, 'x'.repeat(5_000_000))

  await assert.rejects(sql`select 1 from sessions`.execute(database.heavy), {
    code: 'NOT_A_DATABASE',
  })
})

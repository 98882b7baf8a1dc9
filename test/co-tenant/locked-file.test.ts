import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import type { Kysely } from 'kysely'

import { DatabaseBusyError, openStore } from '../../src/index.ts'
import type { Database } from '../../src/index.ts'
import type { RunningProcess } from '../support/child.ts'
import { skipWithoutPython, startPython } from '../support/python.ts'
import { openInRollbackMode } from '../support/rollback-mode.ts'
import { addMeta, assertComplete, copyFixture } from '../support/state-file.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'

const skip = skipWithoutPython()

/** Takes the write lock and keeps it until its input ends. */
const lockHolder = `
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
if len(sys.argv) > 2:
    conn.execute("PRAGMA journal_mode=" + sys.argv[2])
conn.execute("BEGIN " + (sys.argv[3] if len(sys.argv) > 3 else "IMMEDIATE"))
print("locked", flush=True)
sys.stdin.read()
conn.execute("COMMIT")
`

async function lock(file: string, ...args: string[]): Promise<RunningProcess> {
  const holder = startPython(lockHolder, [file, ...args])
  await holder.waitForOutput('locked')
  return holder
}

test('a file that v11 itself made opens while another holds the lock', { skip }, async (t) => {
  const file = copyFixture(t, 'v11')
  await using _holder = await lock(file)

  // Without a single retry: nothing is waited for.
  await using store = await openStore({ path: file, retry: { retries: 0 } })

  assert.equal((await store.db.selectFrom('sessions').select('id').execute()).length > 0, true)
})

test('a file that we made opens while another holds the lock', { skip }, async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await (await openStore({ path: file })).close()
  await using _holder = await lock(file)

  await using store = await openStore({ path: file, retry: { retries: 0 } })

  await assert.rejects(addMeta(store), DatabaseBusyError)
})

test('an upgrade waits for the lock and then succeeds', { skip }, async (t) => {
  const file = copyFixture(t, 'v8')
  await using holder = await lock(file)

  const opening = openStore({ path: file, onProgress: () => {} })
  assert.equal(await Promise.race([opening, settled()]), 'still waiting')
  holder.end()

  await (await opening).close()
  assertComplete(file)
})

/** Later than any attempt that does not wait. */
function settled(): Promise<string> {
  return new Promise((resolve) => void setTimeout(resolve, 200, 'still waiting'))
}

test(
  'an upgrade gives up on a lock that stays, and says how long it tried',
  { skip },
  async (t) => {
    const file = copyFixture(t, 'v8')
    await using holder = await lock(file)

    await assert.rejects(openStore({ path: file, retry: { retries: 2 } }), (error: Error) => {
      assert.ok(error instanceof DatabaseBusyError)
      assert.equal(error.attempts, 3)
      // Two pauses of 20 ms at least.
      assert.ok(error.waitedMs >= 40, String(error.waitedMs))
      if (process.platform === 'linux') assert.equal(error.holder?.pid, holder.pid)
      return true
    })
  },
)

test('a file in rollback mode waits until it can be put into WAL mode', { skip }, async (t) => {
  const file = copyFixture(t, 'v8')
  await using holder = await lock(file, 'DELETE')

  const opening = openStore({ path: file })
  holder.end()

  await (await opening).close()
  assertComplete(file)
})

for (const [what, read] of [
  ['a query', (db: Kysely<Database>) => db.selectFrom('sessions').select('id').execute()],
  [
    'a read transaction',
    (db: Kysely<Database>) =>
      db.transaction().execute((trx) => trx.selectFrom('sessions').select('id').execute()),
  ],
  [
    'a stream',
    (db: Kysely<Database>) => Array.fromAsync(db.selectFrom('sessions').select('id').stream()),
  ],
] as const) {
  test(`in rollback mode ${what} waits for the end of another's commit`, { skip }, async (t) => {
    const file = copyFixture(t, 'v11')
    const database = openInRollbackMode(t, file)
    await using holder = await lock(file, 'DELETE', 'EXCLUSIVE')

    const reading = read(database.read)
    assert.equal(await Promise.race([reading, settled()]), 'still waiting')
    holder.end()

    assert.ok((await reading).length > 0)
  })
}

test('a write gives up when its time is over, and the next one succeeds', { skip }, async (t) => {
  const store = await openTempStore(t, { retry: { retries: 1 } })
  const holder = await lock(store.path)
  await assert.rejects(addMeta(store), { name: 'DatabaseBusyError', attempts: 2 })

  holder.end()
  await holder.exited

  await addMeta(store)
  assert.equal((await store.db.selectFrom('state_meta').select('key').execute()).length, 1)
})

test('patience goes on trying beyond the number of retries', { skip }, async (t) => {
  const store = await openTempStore(t, { retry: { retries: 0, patienceMs: 300 } })
  await using _holder = await lock(store.path)

  await assert.rejects(addMeta(store), (error: Error) => {
    return error instanceof DatabaseBusyError && error.attempts > 2 && error.waitedMs >= 300
  })
})

test('an abort ends the waiting with its own reason', { skip }, async (t) => {
  const leaving = new AbortController()
  const store = await openTempStore(t, { retry: { signal: leaving.signal } })
  await using _holder = await lock(store.path)

  const write = addMeta(store)
  setTimeout(() => leaving.abort(new Error('shutting down')), 50)

  await assert.rejects(write, { message: 'shutting down' })
})

test('after an abort a write still succeeds when nothing is in its way', async (t) => {
  const leaving = new AbortController()
  const store = await openTempStore(t, { retry: { signal: leaving.signal } })
  leaving.abort()

  await addMeta(store)

  assert.equal((await store.db.selectFrom('state_meta').select('key').execute()).length, 1)
})

test('an abort during a write that succeeds leaves it a success', async (t) => {
  const leaving = new AbortController()
  const store = await openTempStore(t, { retry: { signal: leaving.signal } })

  const result = await store.transaction(async (tx) => {
    await tx.db.insertInto('state_meta').values({ key: 'k', value: 'v' }).execute()
    leaving.abort()
    return 'stored'
  })

  assert.equal(result, 'stored')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import SqliteDatabase from 'better-sqlite3'

import { retryPolicy, withBusyRetry } from '../../src/database/busy-retry.ts'
import type { RetryOptions } from '../../src/database/busy-retry.ts'
import { DatabaseBusyError, InvalidInputError } from '../../src/index.ts'

const busy = (code = 'SQLITE_BUSY'): Error => new SqliteDatabase.SqliteError('locked', code)

/** Fails so often with that error, then returns the number of the attempt. */
function failing(times: number, error: () => Error = busy): () => number {
  let attempts = 0
  return () => {
    attempts += 1
    if (attempts <= times) throw error()
    return attempts
  }
}

const quick = { minMs: 0, maxMs: 0 }

test('what succeeds is run once', async () => {
  assert.equal(await withBusyRetry(retryPolicy(), failing(0)), 1)
})

for (const code of [
  'SQLITE_BUSY',
  'SQLITE_BUSY_SNAPSHOT',
  'SQLITE_BUSY_RECOVERY',
  'SQLITE_LOCKED',
]) {
  test(`${code} is tried again`, async () => {
    assert.equal(
      await withBusyRetry(
        retryPolicy(quick),
        failing(3, () => busy(code)),
      ),
      4,
    )
  })
}

for (const [what, error] of [
  ['a full disk', new SqliteDatabase.SqliteError('full', 'SQLITE_FULL')],
  ['a broken rule', new SqliteDatabase.SqliteError('unique', 'SQLITE_CONSTRAINT_UNIQUE')],
  ['a TypeError', new TypeError('locked')],
  ['an error that only says it is busy', Object.assign(new Error('busy'), { code: 'SQLITE_BUSY' })],
] as const) {
  test(`${what} is final`, async () => {
    let attempts = 0
    const attempt = (): never => {
      attempts += 1
      throw error
    }

    await assert.rejects(withBusyRetry(retryPolicy(quick), attempt), (thrown) => thrown === error)

    assert.equal(attempts, 1)
  })
}

test('the default is fifteen attempts, once the patience is over, as the agent makes', async () => {
  const policy = retryPolicy({ ...quick, patienceMs: 0 })

  await assert.rejects(withBusyRetry(policy, failing(Infinity)), (error: Error) => {
    assert.ok(error instanceof DatabaseBusyError)
    assert.equal(error.attempts, 15)
    assert.ok(error.waitedMs >= 0)
    return true
  })
})

test('without a number of retries patience lasts twenty seconds, with one it does not', () => {
  assert.equal(retryPolicy().patienceMs, 20_000)
  assert.equal(retryPolicy({ retries: 3 }).patienceMs, 0)
})

test('zero retries is one attempt', async () => {
  const policy = retryPolicy({ retries: 0 })

  await assert.rejects(withBusyRetry(policy, failing(1)), { attempts: 1 })
})

test('the last busy error is the cause', async () => {
  const last = busy('SQLITE_BUSY_SNAPSHOT')

  const giving = withBusyRetry(
    retryPolicy({ retries: 0 }),
    failing(1, () => last),
  )

  await assert.rejects(giving, (error: Error) => error.cause === last)
})

test('the pauses are drawn from the whole range and from nowhere else', async () => {
  const policy = retryPolicy({ minMs: 20, maxMs: 60 })
  const pausesOfOne = async (): Promise<number[]> => {
    const starts: number[] = []
    const attempt = failing(8)
    await withBusyRetry(policy, () => {
      starts.push(performance.now())
      return attempt()
    })
    return starts.slice(1).map((at, i) => at - (starts[i] ?? at))
  }

  const pauses = (await Promise.all(Array.from({ length: 10 }, pausesOfOne))).flat()

  assert.equal(pauses.length, 80)
  // A timer may fire up to a millisecond early; how late is the machine's matter.
  assert.ok(Math.min(...pauses) >= 19, `shortest ${Math.min(...pauses)}`)
  const short = pauses.filter((pause) => pause < 40).length
  assert.ok(short > 10 && short < 75, `${short} of 80 pauses in the lower half`)
})

test('each retry is told, the last failure is not', async () => {
  let retries = 0

  const giving = withBusyRetry(retryPolicy({ retries: 2, ...quick }), failing(9), () => {
    retries += 1
  })

  await assert.rejects(giving, DatabaseBusyError)
  assert.equal(retries, 2)
})

test('a signal that was aborted before ends the waiting, not the first attempt', async () => {
  const policy = retryPolicy({ signal: AbortSignal.abort(new Error('leaving')) })

  assert.equal(await withBusyRetry(policy, failing(0)), 1)
  await assert.rejects(withBusyRetry(policy, failing(1)), { message: 'leaving' })
})

test('a single bound moves the other where it must', () => {
  assert.equal(retryPolicy({ maxMs: 5 }).minMs, 5)
  assert.equal(retryPolicy({ minMs: 500 }).maxMs, 500)
})

for (const [field, options] of [
  ['retry.retries', { retries: -1 }],
  ['retry.retries', { retries: 1.5 }],
  ['retry.retries', { retries: Infinity }],
  ['retry.retries', { retries: '3' }],
  ['retry.minMs', { minMs: -1 }],
  ['retry.minMs', { minMs: NaN }],
  ['retry.minMs', { minMs: 100, maxMs: 50 }],
  ['retry.maxMs', { maxMs: Infinity }],
  ['retry.patienceMs', { patienceMs: -5 }],
  ['retry.signal', { signal: { aborted: false } }],
  ['retry.patienceMs', { patienceMs: '1000' }],
] as const) {
  test(`${JSON.stringify(options)} is no way to wait`, () => {
    assert.throws(
      () => retryPolicy(options as RetryOptions),
      (error: Error) => error instanceof InvalidInputError && error.field === field,
    )
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { InvalidInputError } from '../../src/errors.ts'
import {
  checkPolicy,
  evaluateReset,
  type ResetPolicy,
} from '../../src/gateway-adapter/reset-policy.ts'

const berlin: ResetPolicy = { mode: 'both', timeZone: 'Europe/Berlin' }
const daily: ResetPolicy = { ...berlin, mode: 'daily' }

function seconds(iso: string): number {
  return Date.parse(iso) / 1000
}

/** The reason when the chat has been silent since `last` in a session begun at `since`. */
function reason(policy: ResetPolicy, since: string, last: string, now: string) {
  const clocks = { sessionStartedAt: seconds(since), lastInteractionAt: seconds(last) }
  return evaluateReset(policy, clocks, seconds(now))
}

test('without a rule no session is ever left', () => {
  const never = reason({ mode: 'none' }, '1970-01-01', '1970-01-01', '2026-01-01')

  assert.equal(never, undefined)
})

test('idle time counts from the last interaction, and only what exceeds it', () => {
  const idle: ResetPolicy = { mode: 'idle', idleMinutes: 30 }
  const since = '2026-01-01T00:00:00Z'
  const last = '2026-01-05T12:00:00Z'

  assert.equal(reason(idle, since, last, '2026-01-05T12:30:00Z'), undefined)
  assert.equal(reason(idle, since, last, '2026-01-05T12:30:00.001Z'), 'idle')
})

test('the daily hour counts from the start of the session, however lively it is', () => {
  const last = '2026-01-05T03:59:59+01:00'

  assert.equal(
    reason(daily, '2026-01-04T12:00+01:00', last, '2026-01-05T03:59:59.9+01:00'),
    undefined,
  )
  assert.equal(reason(daily, '2026-01-04T12:00+01:00', last, '2026-01-05T04:00+01:00'), 'daily')
  assert.equal(reason(daily, '2026-01-05T04:00+01:00', last, '2026-01-06T03:59+01:00'), undefined)
})

test('idle is the reason when both rules hold', () => {
  const at = '2026-01-04T12:00+01:00'

  assert.equal(reason(berlin, at, at, '2026-01-05T12:00:00+01:00'), 'daily')
  assert.equal(reason(berlin, at, at, '2026-01-05T12:00:01+01:00'), 'idle')
})

test('an idle day is 24 hours, also when clocks are changed in it', () => {
  const idle: ResetPolicy = { ...berlin, mode: 'idle' }
  const at = '2026-03-28T12:00+01:00'

  assert.equal(reason(idle, at, at, '2026-03-29T13:00+02:00'), undefined)
  assert.equal(reason(idle, at, at, '2026-03-29T13:00:01+02:00'), 'idle')
})

test('an hour that is skipped comes at the skip', () => {
  const policy = { ...daily, atHour: 2 }
  const since = '2026-03-28T12:00Z'

  assert.equal(reason(policy, since, since, '2026-03-29T00:59:59.999Z'), undefined)
  assert.equal(reason(policy, since, since, '2026-03-29T01:00Z'), 'daily')
})

test('an hour that comes twice counts once, the first time', () => {
  const policy = { ...daily, atHour: 2 }
  const first = '2026-10-25T00:00Z'
  const between = '2026-10-25T00:30Z'

  assert.equal(reason(policy, '2026-10-24T12:00Z', between, first), 'daily')
  assert.equal(reason(policy, first, between, '2026-10-25T01:00Z'), undefined)
  assert.equal(reason(policy, first, between, '2026-10-25T23:00Z'), undefined)
  assert.equal(reason(policy, first, between, '2026-10-26T01:00Z'), 'daily')
})

test('a day that the calendar skips brings no reset', () => {
  const policy: ResetPolicy = { mode: 'daily', timeZone: 'Pacific/Apia' }
  const since = '2011-12-29T05:00-10:00'

  assert.equal(reason(policy, since, since, '2011-12-31T03:59+14:00'), undefined)
  assert.equal(reason(policy, since, since, '2011-12-31T04:00+14:00'), 'daily')
})

test('a clock that was set back resets nothing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e9 }), fc.integer({ min: 0, max: 1e7 }), (at, back) => {
      const clocks = { sessionStartedAt: at, lastInteractionAt: at }

      assert.equal(evaluateReset(berlin, clocks, at - back), undefined)
    }),
  )
})

test('a policy that cannot be is refused by field', () => {
  const wrong: [string, unknown][] = [
    ['mode', { mode: 'weekly' }],
    ['atHour', { mode: 'daily', atHour: 24 }],
    ['atHour', { mode: 'daily', atHour: 1.5 }],
    ['idleMinutes', { mode: 'idle', idleMinutes: 0 }],
    ['idleMinutes', { mode: 'idle', idleMinutes: Number.NaN }],
    ['timeZone', { mode: 'daily', timeZone: 'Middle/Earth' }],
  ]

  for (const [field, policy] of wrong) {
    assert.throws(
      () => checkPolicy('resets', policy as ResetPolicy),
      (error) => error instanceof InvalidInputError && error.field === `resets.${field}`,
    )
  }
})

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { hermesV11, type HermesResetConfig } from '../../src/gateway-adapter/hermes-v11-resets.ts'
import { evaluateReset } from '../../src/gateway-adapter/reset-policy.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'

const timeZone = 'Europe/Berlin'

function reason(config: HermesResetConfig, updatedAt: string, now: string) {
  const [u = 0, n = 0] = [updatedAt, now].map((iso) => Date.parse(iso) / 1000)
  const clocks = { lastInteractionAt: u, sessionStartedAt: u }
  return evaluateReset(hermesV11(config, { timeZone }), clocks, n)
}

test('both rules, 4 o’clock and a day are what v11 does when nothing is configured', () => {
  const { mode, atHour, idleMinutes, notify } = hermesV11()

  assert.deepEqual(
    { mode, atHour, idleMinutes, notify },
    {
      mode: 'both',
      atHour: 4,
      idleMinutes: 1440,
      notify: true,
    },
  )
})

// The rows of gateways.md §2.3.
for (const [config, updatedAt, now, expected] of [
  [{}, '2026-01-06T03:59+01:00', '2026-01-06T04:00+01:00', 'daily'],
  [{}, '2026-01-06T04:00:00+01:00', '2026-01-06T04:00:01+01:00', undefined],
  [{}, '2026-01-05T05:00+01:00', '2026-01-06T03:30+01:00', undefined],
  [{}, '2026-01-05T03:00+01:00', '2026-01-06T02:59+01:00', 'daily'],
  [{}, '2026-01-05T03:00+01:00', '2026-01-06T03:30+01:00', 'idle'],
  [{ mode: 'idle' }, '2026-01-05T12:00:00+01:00', '2026-01-06T12:00:00+01:00', undefined],
  [{ mode: 'idle' }, '2026-01-05T12:00:00+01:00', '2026-01-06T12:00:01+01:00', 'idle'],
  [{ mode: 'none' }, '2026-01-05T12:00+01:00', '2026-01-13T12:00+01:00', undefined],
] as const) {
  test(`v11 ${JSON.stringify(config)} ${updatedAt} → ${now}: ${expected ?? 'keep'}`, () => {
    assert.equal(reason(config, updatedAt, now), expected)
  })
}

test('a day is what the wall shows: 23 hours when clocks are set forward', () => {
  const at = '2026-03-28T12:00+01:00'

  assert.equal(reason({ mode: 'idle' }, at, '2026-03-29T12:00+02:00'), undefined)
  assert.equal(reason({ mode: 'idle' }, at, '2026-03-29T12:00:01+02:00'), 'idle')
})

test('an hour or a time that cannot be is taken as 4 and 1440', () => {
  for (const value of [-1, 24, 1.5, '7', null, Number.NaN, true]) {
    assert.equal(hermesV11({ at_hour: value }).atHour, 4)
  }
  for (const value of [0, -5, 1.5, '60', null, Number.NaN]) {
    assert.equal(hermesV11({ idle_minutes: value }).idleMinutes, 1440)
  }
  assert.equal(hermesV11({ at_hour: 0 }).atHour, 0)
  assert.equal(hermesV11({ idle_minutes: 1 }).idleMinutes, 1)
})

test('a mode that v11 does not know resets nothing', () => {
  assert.equal(reason({ mode: 'weekly' }, '2020-01-01', '2026-01-01'), undefined)
})

// The rule of §2.3 in the arithmetic it was written for.
const pythonRule = `
import json, os, sys, time
from datetime import datetime, timedelta
answers = []
for zone, mode, hour, minutes, updated, now in json.load(sys.stdin):
    os.environ["TZ"] = zone
    time.tzset()
    u, n = datetime.fromtimestamp(updated), datetime.fromtimestamp(now)
    today = n.replace(hour=hour, minute=0, second=0, microsecond=0)
    due = today - timedelta(days=1) if n.hour < hour else today
    if mode in ("idle", "both") and n > u + timedelta(minutes=minutes):
        answers.append("idle")
    elif mode in ("daily", "both") and u < due:
        answers.append("daily")
    else:
        answers.append(None)
print(json.dumps(answers))
`

test(
  'over changes of clocks it says what naive Python datetimes say',
  {
    skip:
      skipWithoutPython() ||
      (!existsSync('/usr/share/zoneinfo/Pacific/Apia') && 'NOT TESTED: Python has no time zones'),
  },
  async () => {
    const changes = ['2026-03-29T01:00Z', '2026-10-25T01:00Z', '2011-12-30T10:00Z']
    const cases = fc
      .sample(
        fc.tuple(
          fc.constantFrom(
            'Europe/Berlin',
            'America/New_York',
            'Australia/Lord_Howe',
            'Asia/Kolkata',
            'Pacific/Apia',
          ),
          fc.constantFrom('idle', 'daily', 'both', 'none'),
          fc.integer({ min: 0, max: 23 }),
          fc.integer({ min: 1, max: 3000 }),
          fc.constantFrom(...changes.map((at) => Date.parse(at) / 1000)),
          fc.integer({ min: -60, max: 60 }),
          fc.integer({ min: 0, max: 2 * 86_400 }),
        ),
        3000,
      )
      .map(([zone, mode, hour, minutes, change, offset, silence]) => {
        const updatedAt = change + offset * 1800
        return [zone, mode, hour, minutes, updatedAt, updatedAt + silence] as const
      })

    const input = JSON.stringify(cases)
    const answers = JSON.parse(await runPython(pythonRule, [], { input })) as unknown[]

    const ours = cases.map(([zone, mode, hour, minutes, updatedAt, now]) => {
      const policy = hermesV11({ mode, at_hour: hour, idle_minutes: minutes }, { timeZone: zone })
      const clocks = { lastInteractionAt: updatedAt, sessionStartedAt: updatedAt }
      return evaluateReset(policy, clocks, now) ?? null
    })
    assert.deepEqual(ours, answers)
  },
)

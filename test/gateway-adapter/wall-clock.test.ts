import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { latestDaily, startOfDay, wallTime } from '../../src/gateway-adapter/wall-clock.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** No clock of these zones is ever changed but on a half hour. */
const STEP = HOUR / 2

const zone = fc.constantFrom(
  // Clocks set forward by two hours.
  'Antarctica/Troll',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Pacific/Apia',
  // Clocks set forward over midnight, or exactly at it.
  'America/Nuuk',
  'America/Sao_Paulo',
)
const hour = fc.integer({ min: 0, max: 23 })
/** 1980 to 2030, often close to a change of clocks. */
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(1980, 0), max: Date.UTC(2030, 0) }),
  fc
    .tuple(
      fc.constantFrom(
        '2026-03-29T01:00Z',
        '2026-10-25T01:00Z',
        '2026-03-08T07:00Z',
        '2026-11-01T06:00Z',
        '2026-04-04T15:00Z',
        '2026-10-03T15:30Z',
        '2011-12-30T10:00Z',
        '2024-03-31T01:00Z',
        '2018-11-04T03:00Z',
        '2018-02-18T02:00Z',
      ),
      fc.integer({ min: -30 * HOUR, max: 30 * HOUR }),
    )
    .map(([change, offset]) => Date.parse(change) + offset),
)

/**
 * The latest daily hour, found by looking at the clock every half hour of five days: the last time it
 * showed the hour, or more, of a day that had not come that far before.
 */
function latestByLooking(now: number, atHour: number, timeZone: string): number {
  const last = Math.floor(now / STEP) * STEP
  const looks = Array.from({ length: 10 * 24 * 2 }, (_, i) => last - 5 * DAY + i * STEP)
  const days = new Set(looks.map((at) => startOfDay(wallTime(at, timeZone))))
  let reached = -Infinity
  let latest = -Infinity
  for (const at of looks) {
    if (at > now) break
    const day = startOfDay(wallTime(at, timeZone) - atHour * HOUR)
    if (day <= reached || !days.has(day)) continue
    reached = day
    latest = at
  }
  return latest
}

test('the latest daily hour is the one a person looking at the clock would name, each time', () => {
  const later = fc.integer({ min: 0, max: 30 * HOUR })
  fc.assert(
    fc.property(instant, later, hour, zone, (now, wait, atHour, timeZone) => {
      for (const at of [now, now + wait]) {
        assert.equal(latestDaily(at, atHour, timeZone), latestByLooking(at, atHour, timeZone))
      }
    }),
    { numRuns: 150 },
  )
})

test('every daily hour is the latest from its own moment to that of the next, about a day later', () => {
  fc.assert(
    fc.property(instant, hour, zone, (now, atHour, timeZone) => {
      const latest = latestDaily(now, atHour, timeZone)
      const before = latestDaily(latest - 1, atHour, timeZone)

      assert(latest <= now && now - latest < 26 * HOUR)
      assert.equal(latestDaily(latest, atHour, timeZone), latest)
      assert(latest - before >= 22 * HOUR && latest - before <= 26 * HOUR)
    }),
    { numRuns: 500 },
  )
})

test('a day that has begun stays begun when clocks are set back into the day before', () => {
  const midnight = Date.parse('2010-11-07T02:30Z')
  // A minute after it the clocks of Newfoundland were set back to 23:01.
  const afterwards = Date.parse('2010-11-07T02:45Z')

  assert.equal(latestDaily(afterwards, 0, 'America/St_Johns'), midnight)
})

test('the wall clock of a zone is what the host in that zone shows', () => {
  const given = process.env['TZ']
  try {
    fc.assert(
      fc.property(instant, zone, (at, timeZone) => {
        process.env['TZ'] = timeZone

        assert.equal(wallTime(at, timeZone), wallTime(at, undefined))
      }),
    )
  } finally {
    if (given === undefined) delete process.env['TZ']
    else process.env['TZ'] = given
  }
})

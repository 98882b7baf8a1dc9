const HOUR = 3_600_000
const DAY = 24 * HOUR
/** More than any zone was ever away from UTC. */
const FARTHEST = 16 * HOUR

/** Less than from one daily hour to the next, whatever the clocks do in between. */
const SHORTEST_DAY = 20 * HOUR

const formats = new Map<string, Intl.DateTimeFormat>()
/** By hour and zone: the calendar is slow to ask, and every message asks. */
const latest = new Map<string, number>()

/**
 * What the clocks of an IANA zone, the host's by default, show at an instant: milliseconds, as if they
 * showed UTC.
 * @throws {RangeError} when there is no such zone.
 */
export function wallTime(at: number, timeZone: string | undefined): number {
  if (timeZone === undefined) {
    const date = new Date(at)
    return at - date.getTimezoneOffset() * 60_000
  }
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(at)) parts[type] = value
  const { year, month, day, hour, minute, second } = parts
  const seconds = Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!, +second!)
  return seconds + (((at % 1000) + 1000) % 1000)
}

/**
 * The latest instant up to `now` at which a day of the zone reached the hour. Where the hour is skipped
 * it is the moment of the skip, where it comes twice the first time; a day that is skipped has none.
 */
export function latestDaily(now: number, hour: number, timeZone: string | undefined): number {
  // The host's own zone is quick to ask, and may change.
  if (timeZone === undefined) return findLatestDaily(now, hour, timeZone)
  const key = `${hour} ${timeZone}`
  const known = latest.get(key)
  if (known !== undefined && known <= now && now < known + SHORTEST_DAY) return known
  const found = findLatestDaily(now, hour, timeZone)
  latest.set(key, found)
  return found
}

function findLatestDaily(now: number, hour: number, timeZone: string | undefined): number {
  const today = startOfDay(wallTime(now, timeZone))
  // Where clocks are set back over midnight, tomorrow has begun before.
  for (let day = today + DAY; ; day -= DAY) {
    const at = firstInstant(day + hour * HOUR, timeZone)
    if (at <= now && isOnCalendar(day, timeZone)) return at
  }
}

export function startOfDay(wall: number): number {
  return Math.floor(wall / DAY) * DAY
}

/** Samoa had no 30 December 2011. */
function isOnCalendar(day: number, timeZone: string | undefined): boolean {
  return startOfDay(wallTime(firstInstant(day, timeZone), timeZone)) === day
}

/** The first instant at which the clocks show that or more. */
function firstInstant(wall: number, timeZone: string | undefined): number {
  let before = wall - FARTHEST
  let after = wall + FARTHEST
  const exact = [before, after]
    .map((at) => wall - (wallTime(at, timeZone) - at))
    .filter((at) => wallTime(at, timeZone) === wall)
  if (exact.length > 0) return Math.min(...exact)
  // The clocks never show it; in between they are set forward, over it.
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (wallTime(middle, timeZone) >= wall) after = middle
    else before = middle
  }
  return after
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formats.set(timeZone, format)
  return format
}

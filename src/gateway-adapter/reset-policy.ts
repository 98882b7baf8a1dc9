import { InvalidInputError } from '../errors.ts'
import { requireObject } from '../repositories/input.ts'
import { latestDaily, startOfDay, wallTime } from './wall-clock.ts'

/** When a chat leaves its session for a new one by itself: at the first message after it is due. */
export interface ResetPolicy {
  /** `idle`: nothing was said for a while. `daily`: an hour of the day has passed since it began. */
  readonly mode: 'none' | 'idle' | 'daily' | 'both'
  /** 0 to 23; 4 by default. */
  readonly atHour?: number | undefined
  /** 1440, a day, by default. */
  readonly idleMinutes?: number | undefined
  /** An IANA name such as `Europe/Berlin`; the host's zone by default. */
  readonly timeZone?: string | undefined
  /** People should be told. True by default. */
  readonly notify?: boolean | undefined
  /** Platforms on which nobody is told; `api_server` and `webhook` by default. */
  readonly silentPlatforms?: readonly string[] | undefined
  /** Made by `hermesV11`: one clock for both rules, and wall-clock arithmetic. */
  readonly rules?: 'hermes-v11' | undefined
}

/** Which rule a session was left by. */
export type ResetReason = 'idle' | 'daily'

/** Seconds since the epoch. */
export interface SessionClocks {
  /** The last message or answer. */
  readonly lastInteractionAt: number
  /** Since when the chat is in the session. */
  readonly sessionStartedAt: number
}

export const AT_HOUR = 4
export const IDLE_MINUTES = 1440

/**
 * Why the session should be left now; undefined to stay in it. Idle time is real time, also when
 * clocks are changed; the daily hour is the zone's, once a day, whether it comes twice or not at all.
 */
export function evaluateReset(
  policy: ResetPolicy,
  clocks: SessionClocks,
  now: number,
): ResetReason | undefined {
  const { mode, atHour = AT_HOUR, idleMinutes = IDLE_MINUTES, timeZone } = policy
  if (mode === 'none') return undefined
  if (policy.rules === 'hermes-v11') return evaluateAsV11(policy, clocks.lastInteractionAt, now)
  if (mode !== 'daily' && now > clocks.lastInteractionAt + idleMinutes * 60) return 'idle'
  if (mode === 'idle') return undefined
  const due = latestDaily(now * 1000, atHour, timeZone) / 1000
  return clocks.sessionStartedAt < due ? 'daily' : undefined
}

/** gateways.md §2.3: what the wall shows is compared as if clocks were never changed. */
function evaluateAsV11(
  { mode, atHour = AT_HOUR, idleMinutes = IDLE_MINUTES, timeZone }: ResetPolicy,
  updatedAt: number,
  now: number,
): ResetReason | undefined {
  const u = wallTime(updatedAt * 1000, timeZone)
  const n = wallTime(now * 1000, timeZone)
  if (mode !== 'daily' && n > u + idleMinutes * 60_000) return 'idle'
  if (mode === 'idle') return undefined
  const today = startOfDay(n) + atHour * 3_600_000
  const due = n < today ? today - 24 * 3_600_000 : today
  return u < due ? 'daily' : undefined
}

/** @throws {InvalidInputError} naming the field that no policy can have. */
export function checkPolicy(field: string, policy: ResetPolicy): void {
  requireObject(field, policy)
  const { mode, atHour = AT_HOUR, idleMinutes = IDLE_MINUTES, timeZone } = policy
  if (!['none', 'idle', 'daily', 'both'].includes(mode)) {
    throw new InvalidInputError(`${field}.mode`, "must be 'none', 'idle', 'daily' or 'both'")
  }
  if (!Number.isInteger(atHour) || atHour < 0 || atHour > 23) {
    throw new InvalidInputError(`${field}.atHour`, 'must be a whole number from 0 to 23')
  }
  if (!Number.isFinite(idleMinutes) || idleMinutes <= 0) {
    throw new InvalidInputError(`${field}.idleMinutes`, 'must be a number above 0')
  }
  try {
    wallTime(0, timeZone)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new InvalidInputError(`${field}.timeZone`, 'is no time zone of this system')
  }
}

import { optionsOf } from './arguments.ts'
import { AT_HOUR, IDLE_MINUTES, type ResetPolicy } from './reset-policy.ts'

/** A policy as Hermes' own configuration has it; whatever it says, it is taken as v11 takes it. */
export interface HermesResetConfig {
  readonly mode?: unknown
  readonly at_hour?: unknown
  readonly idle_minutes?: unknown
  readonly notify?: unknown
  readonly notify_exclude_platforms?: unknown
}

/**
 * Resets as the Python gateway of v11 made them (gateways.md §2.3): by default after a day of silence
 * and at 4 o'clock, on the clocks of the host. `timeZone` when those are set to another zone here.
 */
export function hermesV11(
  config?: HermesResetConfig,
  options?: { timeZone?: string },
): ResetPolicy {
  const { timeZone } = optionsOf('options', options)
  const given = optionsOf('config', config)
  const { at_hour: atHour, idle_minutes: idleMinutes, notify_exclude_platforms: silent } = given
  return {
    rules: 'hermes-v11',
    mode: modeOf(given.mode),
    atHour: isWhole(atHour) && atHour >= 0 && atHour <= 23 ? atHour : AT_HOUR,
    idleMinutes: isWhole(idleMinutes) && idleMinutes > 0 ? idleMinutes : IDLE_MINUTES,
    timeZone,
    notify: given.notify !== false,
    silentPlatforms: Array.isArray(silent) ? silent.map(String) : undefined,
  }
}

/** A mode that v11 does not know matches none of its rules. */
function modeOf(mode: unknown): ResetPolicy['mode'] {
  if (mode === undefined || mode === null) return 'both'
  return mode === 'idle' || mode === 'daily' || mode === 'both' ? mode : 'none'
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value)
}

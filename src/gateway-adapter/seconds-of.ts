import { InvalidInputError } from '../errors.ts'

/** Seconds since the epoch. @throws {InvalidInputError} when it is no time. */
export function secondsOf(field: string, at: number | Date): number {
  const seconds: unknown = at instanceof Date ? at.getTime() / 1000 : at
  if (typeof seconds === 'number' && Number.isFinite(seconds)) return seconds
  throw new InvalidInputError(field, 'must be a date or seconds since the epoch')
}

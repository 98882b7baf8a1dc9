import { InvalidInputError } from '../errors.ts'
import { replaceLoneSurrogates } from '../schema/python-text.ts'

/** @throws {InvalidInputError} unless it is a string with something in it. */
export function requireText(field: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw new InvalidInputError(field, 'must be a string that is not empty')
  }
  return replaceLoneSurrogates(value)
}

/** For a look-up: an empty string is a text that names nothing. @throws {InvalidInputError} unless a string. */
export function lookupText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidInputError(field, 'must be a string')
  return replaceLoneSurrogates(value)
}

/** Null for absent. @throws {InvalidInputError} unless it is a string, null or undefined. */
export function optionalText(field: string, value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw new InvalidInputError(field, 'must be a string or null')
  return replaceLoneSurrogates(value)
}

/** @throws {InvalidInputError} unless it is an object, and no list. */
export function requireObject(field: string, value: unknown): asserts value is object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new InvalidInputError(field, 'must be an object')
}

/** A whole number from 0 up, or -1 for all. @throws {InvalidInputError} for anything else. */
export function limitOf(field: string, value: unknown, absent: number): number {
  if (value === undefined) return absent
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < -1) {
    throw new InvalidInputError(field, 'must be a whole number from 0 up, or -1 for all')
  }
  return value
}

/** @throws {InvalidInputError} unless it is a whole number from 0 up. */
export function offsetOf(field: string, value: unknown): number {
  if (value === undefined) return 0
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new InvalidInputError(field, 'must be a whole number from 0 up')
  }
  return value
}

/** @throws {InvalidInputError} unless it is true or false. */
export function flagOf(field: string, value: unknown, absent: boolean): boolean {
  if (value === undefined) return absent
  if (typeof value !== 'boolean') throw new InvalidInputError(field, 'must be true or false')
  return value
}

/** @throws {InvalidInputError} unless it is absent or an AbortSignal. */
export function assertSignal(field: string, value: unknown): void {
  if (value === undefined || value instanceof AbortSignal) return
  throw new InvalidInputError(field, 'must be an AbortSignal')
}

/** An empty list for absent. @throws {InvalidInputError} unless it is a list of strings. */
export function textsOf(field: string, value: unknown): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new InvalidInputError(field, 'must be a list of strings')
  return value.map((item, index) => lookupText(`${field}[${index}]`, item))
}

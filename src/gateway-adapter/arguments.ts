import { InvalidInputError } from '../errors.ts'
import { requireObject, requireText } from '../repositories/input.ts'
import { normalizeSource } from './chat-source.ts'
import type { Lane } from './lane.ts'

// What a program without types may hand in: named when it is wrong, before anything is done.

/** Absent options are none. @throws {InvalidInputError} for what is no object. */
export function optionsOf<T extends object>(field: string, options: T | undefined): T {
  if (options === undefined) return {} as T
  requireObject(field, options)
  return options
}

/** @throws {InvalidInputError} unless it is a lane that this package gave. */
export function laneOf(lane: Lane): Lane {
  requireObject('lane', lane)
  requireText('lane.sessionId', lane.sessionId)
  rowIdOf('lane.routeId', lane.routeId)
  normalizeSource(lane.source)
  return lane
}

/** @throws {InvalidInputError} unless it is the id of a row. */
export function rowIdOf(field: string, id: number): number {
  if (Number.isSafeInteger(id)) return id
  throw new InvalidInputError(field, 'must be a whole number')
}

/** @throws {InvalidInputError} unless it is a list. */
export function listOf<T>(field: string, list: readonly T[]): readonly T[] {
  if (Array.isArray(list)) return list
  throw new InvalidInputError(field, 'must be a list')
}

/** @throws {InvalidInputError} unless it can be called. */
export function callableOf<T>(field: string, value: T): T {
  if (typeof value === 'function') return value
  throw new InvalidInputError(field, 'must be a function')
}

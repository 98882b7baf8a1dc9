import { InvalidInputError } from '../errors.ts'
import type { SearchOrder } from './search-request.ts'

/** Behind which hit a page begins. */
export interface SearchKey {
  /** How many ways of looking were done with. */
  readonly pass: number
  /** Which of those did answer. */
  readonly answered: readonly number[]
  /** What the hits of this way are ordered by: rank or time. */
  readonly value: number
  readonly id: number
}

export function cursorOf(key: SearchKey, order: SearchOrder): string {
  const { pass, answered, value, id } = key
  return Buffer.from(JSON.stringify([order, pass, answered, value, id])).toString('base64url')
}

/** @throws {InvalidInputError} when it is no cursor of a search in this order. */
export function keyOf(cursor: string, order: SearchOrder): SearchKey {
  const [made, pass, answered, value, id] = partsOf(cursor)
  const isKey =
    made === order &&
    [pass, value, id].every((part) => typeof part === 'number') &&
    Array.isArray(answered) &&
    answered.every((part) => typeof part === 'number')
  if (!isKey) throw new InvalidInputError('cursor', `is not one of a search by ${order}`)
  return { pass, answered, value, id } as SearchKey
}

function partsOf(cursor: unknown): unknown[] {
  if (typeof cursor !== 'string') throw new InvalidInputError('cursor', 'must be a string')
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

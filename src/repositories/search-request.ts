import { InvalidInputError } from '../errors.ts'
import { pyStrip } from '../schema/python-text.ts'
import { limitOf, offsetOf } from './input.ts'

export interface SearchOptions {
  /** Only sessions of these sources; an empty list has none. */
  readonly sources?: readonly string[]
  readonly excludeSources?: readonly string[]
  /** Only these sessions; an empty list has none. */
  readonly sessionIds?: readonly string[]
  /** Only messages of these roles; an empty list stands for all. */
  readonly roles?: readonly string[]
  /** 20 by default, -1 for all. */
  readonly limit?: number
  readonly offset?: number
  /** `newest` or `oldest` first; anything else is best match first. */
  readonly sort?: string
  /** Stops the search at once, with the signal's reason. */
  readonly signal?: AbortSignal
}

export type SearchOrder = 'relevance' | 'newest' | 'oldest'

/** What to keep of the messages found, in the form the statements bind: lists as JSON, null for no limit. */
export interface SearchScope {
  readonly sources: string | null
  readonly excludeSources: string | null
  readonly sessionIds: string | null
  readonly roles: string | null
  readonly limit: number
  readonly offset: number
}

export interface SearchRequest {
  readonly query: string
  readonly order: SearchOrder
  readonly scope: SearchScope
}

/** Enough for a pasted page; each word costs an index look-up, and the event loop waits for all of them. */
const LONGEST_QUERY = 65_536

const DEFAULT_LIMIT = 20

/** @throws {InvalidInputError} naming the argument that is of the wrong type or range. */
export function searchRequest(query: string, options: SearchOptions): SearchRequest {
  if (typeof query !== 'string') throw new InvalidInputError('query', 'must be a string')
  if (query.length > LONGEST_QUERY) {
    throw new InvalidInputError('query', `is longer than ${LONGEST_QUERY} characters`)
  }
  if (typeof options !== 'object' || options === null) {
    throw new InvalidInputError('options', 'must be an object')
  }
  const roles = listOf('roles', options.roles)
  return {
    query: query.toWellFormed(),
    order: orderOf(options.sort),
    scope: {
      sources: asJson(listOf('sources', options.sources)),
      excludeSources: asJson(listOf('excludeSources', options.excludeSources)),
      sessionIds: asJson(listOf('sessionIds', options.sessionIds)),
      roles: roles?.length === 0 ? null : asJson(roles),
      limit: limitOf('limit', options.limit, DEFAULT_LIMIT),
      offset: offsetOf('offset', options.offset),
    },
  }
}

function orderOf(sort: string | undefined): SearchOrder {
  if (sort === undefined || sort === null) return 'relevance'
  if (typeof sort !== 'string') throw new InvalidInputError('sort', 'must be a string')
  const order = pyStrip(sort).toLowerCase()
  return order === 'newest' || order === 'oldest' ? order : 'relevance'
}

function listOf(field: string, value: readonly string[] | undefined): readonly string[] | null {
  if (value === undefined || value === null) return null
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
    throw new InvalidInputError(field, 'must be a list of strings')
  }
  return value
}

function asJson(list: readonly string[] | null): string | null {
  return list && JSON.stringify(list)
}

import { InvalidInputError } from '../errors.ts'
import { pyStrip } from '../schema/python-text.ts'
import { assertSignal, limitOf, offsetOf, requireObject } from './input.ts'
import { keyOf, type SearchKey } from './search-cursor.ts'

export interface SearchFilter {
  /** Only sessions of these sources; an empty list has none. */
  readonly sources?: readonly string[]
  readonly excludeSources?: readonly string[]
  /** Only these sessions; an empty list has none. */
  readonly sessionIds?: readonly string[]
  /** Not these sessions, for instance the one that is going on. */
  readonly excludeSessionIds?: readonly string[]
  /** Only sessions of these users; an empty list has none. */
  readonly userIds?: readonly string[]
  /** Only this session, the one it goes back to and all that come from that. */
  readonly lineageOf?: string
  /** Only messages of these roles; an empty list stands for all. */
  readonly roles?: readonly string[]
  /** Only messages of this time or later, in seconds since the epoch. */
  readonly since?: number
  /** Only messages from before this time, in seconds since the epoch. */
  readonly until?: number
  /** Stops waiting at once, with the signal's reason. */
  readonly signal?: AbortSignal
}

export interface SearchOptions extends SearchFilter {
  /** 20 by default, -1 for all. */
  readonly limit?: number
  readonly offset?: number
  /** `newest` or `oldest` first; anything else is best match first. */
  readonly sort?: string
}

export interface FindOptions extends SearchFilter {
  /** 20 by default, -1 for all. */
  readonly limit?: number
  /** `relevance` by default. */
  readonly sort?: SearchOrder
  /** The `nextCursor` of the page before, found with the same query, filter and order. */
  readonly cursor?: string
}

export type SearchOrder = 'relevance' | 'newest' | 'oldest'

/** What to keep of the messages found, in the form the statements bind: lists as JSON, null for no limit. */
export interface SearchScope {
  readonly sources: string | null
  readonly excludeSources: string | null
  readonly sessionIds: string | null
  readonly excludeSessionIds: string | null
  readonly userIds: string | null
  readonly roles: string | null
  readonly since: number | null
  readonly until: number | null
  readonly limit: number
  readonly offset: number
}

export interface SearchRequest {
  readonly query: string
  readonly order: SearchOrder
  readonly scope: SearchScope
  readonly lineageOf: string | undefined
  readonly after: SearchKey | undefined
  readonly isScored: boolean
  readonly signal: AbortSignal | undefined
}

/** Enough for a pasted page; each word costs an index look-up. */
const LONGEST_QUERY = 65_536

const DEFAULT_LIMIT = 20

/** @throws {InvalidInputError} naming the argument that is of the wrong type or range. */
export function searchRequest(
  query: string,
  options: SearchOptions & Pick<FindOptions, 'cursor'>,
  isScored = false,
): SearchRequest {
  if (typeof query !== 'string') throw new InvalidInputError('query', 'must be a string')
  if (query.length > LONGEST_QUERY) {
    throw new InvalidInputError('query', `is longer than ${LONGEST_QUERY} characters`)
  }
  requireObject('options', options)
  assertSignal('signal', options.signal)
  const roles = listOf('roles', options.roles)
  const { lineageOf, cursor } = options
  if (lineageOf !== undefined && typeof lineageOf !== 'string') {
    throw new InvalidInputError('lineageOf', 'must be a string')
  }
  const order = orderOf(options.sort)
  return {
    query: query.toWellFormed(),
    order,
    lineageOf,
    after: cursor === undefined ? undefined : keyOf(cursor, order),
    isScored,
    signal: options.signal,
    scope: {
      sources: asJson(listOf('sources', options.sources)),
      excludeSources: asJson(listOf('excludeSources', options.excludeSources)),
      sessionIds: asJson(listOf('sessionIds', options.sessionIds)),
      excludeSessionIds: asJson(listOf('excludeSessionIds', options.excludeSessionIds)),
      userIds: asJson(listOf('userIds', options.userIds)),
      roles: roles?.length === 0 ? null : asJson(roles),
      since: timeOf('since', options.since),
      until: timeOf('until', options.until),
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

function timeOf(field: string, value: number | undefined): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw new InvalidInputError(field, 'must be a number of seconds')
  }
  return value
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

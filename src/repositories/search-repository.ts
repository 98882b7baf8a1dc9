import type { Handle } from '../database/handle.ts'
import { DatabaseCorruptError, DatabaseError, InvalidInputError } from '../errors.ts'
import { matcherOf } from '../schema/search-matcher.ts'
import { indexState, type IndexState } from './index-state.ts'
import { requireObject } from './input.ts'
import { ancestorIds, descendantIds } from './lineage-queries.ts'
import { contextOf } from './search-context.ts'
import { cursorOf } from './search-cursor.ts'
import { toHit, type SearchHit } from './search-hit.ts'
import type { SearchNote } from './search-notes.ts'
import { parseQuery, type ParsedQuery } from './search-parser.ts'
import { planPasses } from './search-plan.ts'
import { searchRequest } from './search-request.ts'
import type { FindOptions, SearchFilter, SearchOptions, SearchRequest } from './search-request.ts'
import { SearchPages } from './search-pages.ts'
import { runInTurn, runTogether, type FoundBy } from './search-run.ts'
import { bySession, findTitles, type FoundSession } from './search-sessions.ts'
import { SearchZones } from './search-zones.ts'

export interface SearchResult {
  readonly hits: readonly SearchHit[]
  /** What was read or done otherwise than asked; empty when nothing was. */
  readonly notes: readonly SearchNote[]
  /** For `cursor`, to get the page behind; absent when this was the last. */
  readonly nextCursor?: string
}

export interface SessionSearchOptions extends SearchFilter {
  /** How many sessions; 10 by default. */
  readonly limit?: number
  /** How many hits of each; 3 by default. */
  readonly hitsPerSession?: number
}

export interface SessionMatch extends FoundSession {
  /** How many of its messages were found. */
  readonly hitCount: number
  /** The best of them. */
  readonly hits: readonly SearchHit[]
}

export interface SessionSearchResult {
  readonly sessions: readonly SessionMatch[]
  readonly notes: readonly SearchNote[]
}

/** How many hits are counted by session. */
const MOST_COUNTED = 1000

/** Finds what was said, in any session of the file. */
export class SearchRepository {
  readonly #db: Handle
  readonly #zones: SearchZones

  constructor(db: Handle) {
    this.#db = db
    this.#zones = new SearchZones(db)
  }

  /**
   * Messages that fit: words must all occur; `"a phrase"`, `OR`, `AND`, `NOT`, `-word`, `prefix*`,
   * brackets and `NEAR(a b)` are understood, everything else is text. First everything that the agent
   * finds, in its order (spec §13), then what it misses. A blank query finds nothing.
   * @throws {InvalidInputError} for arguments of a wrong type or range, and a query longer than 65,536
   *   characters.
   * @throws {InvalidQueryError} for more or longer terms than can be looked for at once.
   * @throws the reason of `options.signal`.
   */
  async messages(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    const request = searchRequest(query, options)
    const parsed = parseQuery(request.query)
    const { found } = await this.#find(request, parsed, false)
    return this.#hits(found, parsed)
  }

  /**
   * The same page by page, strictly in the order asked for, with notes on how the query was read.
   * @throws what `messages` throws, and {InvalidInputError} for a cursor of another order.
   */
  async find(query: string, options: FindOptions = {}): Promise<SearchResult> {
    const request = searchRequest(query, options, true)
    const parsed = parseQuery(request.query)
    const { found, notes } = await this.#find(request, parsed, request.order !== 'relevance')
    const last = found.at(-1)
    const isFull = last !== undefined && found.length === request.scope.limit
    return {
      hits: await this.#hits(found, parsed),
      notes: [...parsed.notes, ...notes],
      ...(isFull && { nextCursor: cursorOf(last.key, request.order) }),
    }
  }

  /**
   * The sessions in which the best hits are, so that a long one cannot fill the page, with counts. Those
   * whose title fits come first.
   * @throws what `messages` throws.
   */
  async sessions(query: string, options: SessionSearchOptions = {}): Promise<SessionSearchResult> {
    requireObject('options', options)
    const { limit = 10, hitsPerSession = 3, ...filter } = options
    const request = searchRequest(query, { ...filter, limit: MOST_COUNTED })
    for (const [field, value] of Object.entries({ limit, hitsPerSession })) {
      if (Number.isSafeInteger(value) && value >= 0) continue
      throw new InvalidInputError(field, 'must be a whole number from 0 up')
    }
    const parsed = parseQuery(request.query)
    const { found, notes, scoped } = await this.#find(request, parsed, false)
    const counted = bySession(found)
    const titled = parsed.expression ? await findTitles(this.#db, parsed.expression, scoped) : []
    const sessions = [...titled, ...untitled(counted, titled)].slice(0, limit)
    const best = sessions.flatMap(({ sessionId }) =>
      (counted.get(sessionId) ?? []).slice(0, hitsPerSession),
    )
    const hits = await this.#hits(best, parsed)
    const isPart = found.length === MOST_COUNTED
    const message = `only the best ${MOST_COUNTED} messages were counted`
    return {
      sessions: sessions.map((session) => ({
        ...session,
        hitCount: counted.get(session.sessionId)?.length ?? 0,
        hits: hits.filter((hit) => hit.sessionId === session.sessionId),
      })),
      notes: [
        ...parsed.notes,
        ...notes,
        ...(isPart ? [{ code: 'counted-in-part', message } as const] : []),
      ],
    }
  }

  async #find(
    asked: SearchRequest,
    parsed: ParsedQuery,
    isByTime: boolean,
  ): Promise<{ found: FoundBy[]; notes: SearchNote[]; scoped: SearchRequest }> {
    asked.signal?.throwIfAborted()
    const request = await this.#inLineage(asked)
    if (request.scope.limit === 0) return { found: [], notes: [], scoped: request }
    const state = await indexState(this.#db.read)
    try {
      const found = await this.#look(request, parsed, state, isByTime)
      return { found, notes: notesOn(state), scoped: request }
    } catch (error) {
      if (!isIndexError(error) || state.kind === 'unusable') throw error
      const unusable: IndexState = { kind: 'unusable' }
      const found = await this.#look(request, parsed, unusable, isByTime)
      return { found, notes: notesOn(unusable), scoped: request }
    }
  }

  #look(
    request: SearchRequest,
    parsed: ParsedQuery,
    state: IndexState,
    isByTime: boolean,
  ): Promise<FoundBy[]> {
    const pages = new SearchPages(this.#db.heavy, request, this.#zones)
    const passes = planPasses(request.query, parsed, state)
    return (isByTime ? runTogether : runInTurn)(pages, passes, request)
  }

  async #inLineage(request: SearchRequest): Promise<SearchRequest> {
    if (request.lineageOf === undefined) return request
    const [root = request.lineageOf] = await ancestorIds(this.#db.read, request.lineageOf)
    const family = [root, ...(await descendantIds(this.#db.read, root))]
    const { sessionIds } = request.scope
    const wanted = sessionIds && new Set(JSON.parse(sessionIds) as string[])
    const ids = wanted ? family.filter((id) => wanted.has(id)) : family
    return { ...request, scope: { ...request.scope, sessionIds: JSON.stringify(ids) } }
  }

  async #hits(found: readonly FoundBy[], { expression }: ParsedQuery): Promise<SearchHit[]> {
    const matcher = expression && matcherOf(expression)
    const contexts = await contextOf(
      this.#db.read,
      found.map(({ row }) => row.id),
    )
    return found.map(({ row }) => toHit(row, matcher, contexts.get(row.id) ?? []))
  }
}

function untitled(
  counted: ReadonlyMap<string, readonly FoundBy[]>,
  titled: readonly FoundSession[],
): FoundSession[] {
  const known = new Set(titled.map(({ sessionId }) => sessionId))
  return Array.from(counted.values()).flatMap(([first]) => {
    if (!first || known.has(first.row.sessionId)) return []
    const { sessionId, sessionTitle, source, model, sessionStarted } = first.row
    return [
      {
        sessionId,
        title: sessionTitle,
        titleHighlights: [],
        source,
        model,
        startedAt: sessionStarted,
      },
    ]
  })
}

function notesOn(state: IndexState): SearchNote[] {
  if (state.kind === 'newer' || (state.kind === 'usable' && !state.reach)) return []
  const message =
    'a full-text index is missing, damaged or behind, so messages were read one by one'
  return [{ code: 'index-incomplete', message }]
}

function isIndexError(error: unknown): boolean {
  return (
    (error instanceof DatabaseCorruptError && error.scope === 'index') ||
    (error instanceof DatabaseError && /^no such (?:fts5 )?table/.test(error.message))
  )
}

import { sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely'

import { prepare, type PreparedQuery, type QueryOptions } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { HIT_END, HIT_START } from '../schema/search-excerpt.ts'
import type { SearchKey } from './search-cursor.ts'
import type { SearchOrder, SearchScope } from './search-request.ts'
import { messageInScope } from './search-scope.ts'

export type SearchIndexName = 'messages_fts' | 'messages_fts_trigram'

/** A hit as the statements give it, without its surroundings. */
export interface FoundRow {
  id: number
  sessionId: string
  role: string
  /** Null when the message has no text; with the marks of `search-excerpt.ts` around what was hit. */
  snippet: string | null
  /** Likewise marked, of a message of which `snippet` does not show what was hit; null otherwise. */
  otherExcerpt: string | null
  timestamp: number
  toolName: string | null
  source: string
  model: string | null
  sessionStarted: number
  sessionTitle: string | null
  /** FTS5's bm25, lower is better; null where nothing ranks. */
  rank: number | null
}

/** Ids, both ends included. */
export type IdRange = Readonly<{ low: number; high: number }>

export const ALL_IDS: IdRange = { low: 0, high: Number.MAX_SAFE_INTEGER }

export interface PageScope {
  readonly scope: SearchScope
  readonly ids: IdRange
  readonly order: SearchOrder
  /** Of equal times the agent shows the better match first; otherwise they are ordered by id. */
  readonly hasAgentTies: boolean
  /** To tell how well each fits, FTS5 reads all places of all terms a second time. */
  readonly isScored: boolean
  readonly after: Pick<SearchKey, 'value' | 'id'> | undefined
}

/** The text of a message as the agent indexes it (spec §2). */
export const indexedText = sql<string>`
  (coalesce(m.content, '') || ' ' || coalesce(m.tool_name, '') || ' ' || coalesce(m.tool_calls, ''))`

/** Its last two characters. A content with a NUL would end the text, and two blanks are behind it. */
export const endOfIndexedText = sql<string>`
  substr('  ' || coalesce(m.tool_name, '') || ' ' || coalesce(m.tool_calls, ''), -2)`

type Direction = 'asc' | 'desc'

function directionOf(order: SearchOrder): Direction {
  return order === 'newest' ? 'desc' : 'asc'
}

type IndexParams = SearchScope & IdRange & { match: string }

/**
 * Messages that an index finds and that fit the filters, in the wanted order.
 * @throws {DatabaseError} with `sqliteCode` SQLITE_ERROR when `match` is no FTS5 query.
 */
export function findByIndex(
  db: Kysely<Database>,
  index: SearchIndexName,
  match: string,
  page: PageScope,
  filters: readonly Expression<SqlBool>[],
  options?: QueryOptions,
): Promise<FoundRow[]> {
  const { scope, ids, order, after, hasAgentTies, isScored } = page
  const params = { ...scope, ...ids, match }
  if (filters.length > 0 || after) {
    const column = order === 'relevance' ? sql`hit.rank` : sql`m.timestamp`
    const direction = directionOf(order)
    const key = after && order === 'relevance' ? rankNow(index, match, after) : after?.value
    const all = after
      ? [...filters, behind({ id: after.id, value: key }, column, direction, direction)]
      : filters
    return indexQuery(db, index, params, page, all).execute(options)
  }
  const key = `${index} ${order} ${hasAgentTies} ${isScored}`
  let query = prepared.get(key)
  if (!query) {
    query = prepare<IndexParams>()((base, p) => indexQuery(base, index, p, page, []))
    prepared.set(key, query)
  }
  return query.all(db, params, options)
}

const prepared = new Map<string, PreparedQuery<IndexParams, FoundRow>>()

export interface Excerpts {
  readonly snippet: RawBuilder<string | null>
  readonly otherExcerpt: RawBuilder<string | null>
}

export const noExcerpt = sql<string | null>`null`

/** Messages that fit the filters, by time; excerpts are made for those of the page only. */
export function findByFilters(
  db: Kysely<Database>,
  { scope, ids, order, after, hasAgentTies }: PageScope,
  filters: readonly Expression<SqlBool>[],
  { snippet, otherExcerpt }: Excerpts,
  options?: QueryOptions,
): Promise<FoundRow[]> {
  const direction = order === 'oldest' ? 'asc' : 'desc'
  const tieDirection = hasAgentTies ? 'asc' : direction
  let page = db
    .selectFrom('messages as m')
    .crossJoin('sessions as s')
    .whereRef('s.id', '=', 'm.session_id')
    .where(messageInScope(scope))
    .select(['m.id'])
    .orderBy('m.timestamp', direction)
    .orderBy('m.id', tieDirection)
    .limit(scope.limit)
    .offset(scope.offset)
  for (const filter of filters) page = page.where(filter)
  if (ids !== ALL_IDS) {
    page = page
      .where(sql<SqlBool>`m.id >= cast(${ids.low} as integer)`)
      .where(sql<SqlBool>`m.id <= cast(${ids.high} as integer)`)
  }
  if (after) page = page.where(behind(after, sql`m.timestamp`, direction, tieDirection))
  return db
    .with('page', () => page)
    .selectFrom('page')
    .crossJoin('messages as m')
    .crossJoin('sessions as s')
    .whereRef('m.id', '=', 'page.id')
    .whereRef('s.id', '=', 'm.session_id')
    .select(hitColumns)
    .select([snippet.as('snippet'), otherExcerpt.as('otherExcerpt'), sql<null>`null`.as('rank')])
    .orderBy('m.timestamp', direction)
    .orderBy('m.id', tieDirection)
    .execute(options)
}

/** The numbers that these expressions make. */
export async function evaluate(
  db: Kysely<Database>,
  expressions: readonly RawBuilder<number>[],
  options?: QueryOptions,
): Promise<number[]> {
  const { rows } = await sql<{ numbers: string }>`
    select json_array(${sql.join(expressions)}) as numbers`.execute(db, options)
  return JSON.parse(rows[0]?.numbers ?? '[]') as number[]
}

const hitColumns = [
  'm.id',
  'm.session_id as sessionId',
  'm.role',
  'm.timestamp',
  'm.tool_name as toolName',
  's.source',
  's.model',
  's.started_at as sessionStarted',
  's.title as sessionTitle',
] as const

function indexQuery(
  db: Kysely<Database>,
  index: SearchIndexName,
  p: IndexParams,
  { order, hasAgentTies, isScored }: Pick<PageScope, 'order' | 'hasAgentTies' | 'isScored'>,
  filters: readonly Expression<SqlBool>[],
) {
  const table = sql.ref(`hit.${index}`)
  // Column -1 is whichever the hit is in: files born at version 23 or later index three of them.
  const marks = sql`${sql.lit(HIT_START)}, ${sql.lit(HIT_END)}`
  const excerpt = sql<string | null>`snippet(${table}, -1, ${marks}, '...', 40)`
  const rank = isScored ? sql<number | null>`hit.rank` : sql<number | null>`null`
  const found = (with_: readonly Expression<SqlBool>[]) => {
    let query = db
      // Cross joins keep the index outermost, which then also delivers in the order of rank.
      .selectFrom(sql<{ rowid: number; rank: number }>`${sql.table(index)}`.as('hit'))
      .crossJoin('messages as m')
      .crossJoin('sessions as s')
      .where(sql<SqlBool>`${table} match ${p.match}`)
      .where(sql<SqlBool>`hit.rowid >= cast(${p.low} as integer)`)
      .where(sql<SqlBool>`hit.rowid <= cast(${p.high} as integer)`)
      .whereRef('m.id', '=', 'hit.rowid')
      .whereRef('s.id', '=', 'm.session_id')
      .where(messageInScope(p))
    for (const filter of with_) query = query.where(filter)
    return query
  }
  if (order === 'relevance') {
    return found(filters)
      .select(hitColumns)
      .select([excerpt.as('snippet'), noExcerpt.as('otherExcerpt'), rank.as('rank')])
      .orderBy('hit.rank')
      .limit(p.limit)
      .offset(p.offset)
  }
  const direction = directionOf(order)
  // The page first, because an excerpt would be made for all that are sorted.
  return db
    .with('page', () =>
      found(filters)
        .select(['m.id', hasAgentTies ? sql<number | null>`hit.rank`.as('rank') : rank.as('rank')])
        .orderBy('m.timestamp', direction)
        .orderBy(hasAgentTies ? sql`hit.rank` : sql`m.id`, hasAgentTies ? 'asc' : direction)
        .limit(p.limit)
        .offset(p.offset),
    )
    .selectFrom('page')
    .crossJoin(sql<{ rowid: number }>`${sql.table(index)}`.as('hit'))
    .crossJoin('messages as m')
    .crossJoin('sessions as s')
    .where(sql<SqlBool>`${table} match ${p.match}`)
    .whereRef('hit.rowid', '=', 'page.id')
    .whereRef('m.id', '=', 'page.id')
    .whereRef('s.id', '=', 'm.session_id')
    .select(hitColumns)
    .select([excerpt.as('snippet'), noExcerpt.as('otherExcerpt'), 'page.rank as rank'])
    .orderBy('m.timestamp', direction)
    .orderBy(hasAgentTies ? sql`page.rank` : sql`m.id`, hasAgentTies ? 'asc' : direction)
}

/** With every message that comes or goes all ranks shift, that of the last hit among them. */
function rankNow(
  index: SearchIndexName,
  match: string,
  { value, id }: NonNullable<PageScope['after']>,
): RawBuilder<number> {
  const table = sql.table(index)
  return sql<number>`ifnull((select rank from ${table}
    where ${table} match ${match} and rowid = cast(${id} as integer)), ${value})`
}

/** Only what comes behind a key. */
function behind(
  { value, id }: { value: unknown; id: number },
  column: RawBuilder<unknown>,
  direction: Direction,
  tieDirection: Direction,
): RawBuilder<SqlBool> {
  const further = (way: Direction): RawBuilder<unknown> => sql.raw(way === 'asc' ? '>' : '<')
  return sql<SqlBool>`(${column} ${further(direction)} ${value}
    or (${column} = ${value} and m.id ${further(tieDirection)} cast(${id} as integer)))`
}

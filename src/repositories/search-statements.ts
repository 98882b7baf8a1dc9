import { sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely'

import { prepare, type PreparedQuery, type QueryOptions } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import type { SearchOrder, SearchScope } from './search-request.ts'

export type SearchIndexName = 'messages_fts' | 'messages_fts_trigram'

/** A hit without its surroundings. */
export interface FoundMessage {
  id: number
  sessionId: string
  role: string
  /** Null when the message has no text. */
  snippet: string | null
  timestamp: number
  toolName: string | null
  source: string
  model: string | null
  sessionStarted: number
}

type IndexParams = SearchScope & { match: string }

/**
 * Messages that an index finds, in the wanted order.
 * @throws {DatabaseError} with `sqliteCode` SQLITE_ERROR when `match` is no FTS5 query.
 */
export function findByIndex(
  db: Kysely<Database>,
  index: SearchIndexName,
  params: IndexParams,
  order: SearchOrder,
  filter?: Expression<SqlBool>,
  options?: QueryOptions,
): Promise<FoundMessage[]> {
  if (filter) return indexQuery(db, index, params, order).where(filter).execute(options)
  const key = `${index} ${order}`
  let query = prepared.get(key)
  if (!query) {
    query = prepare<IndexParams>()((base, p) => indexQuery(base, index, p, order))
    prepared.set(key, query)
  }
  return query.all(db, params, options)
}

const prepared = new Map<string, PreparedQuery<IndexParams, FoundMessage>>()

/** Messages that fit `filter`, newest first; the excerpt shows the first place of `term`. */
export function findByScan(
  db: Kysely<Database>,
  scope: SearchScope,
  term: string,
  filter: Expression<SqlBool>,
  options?: QueryOptions,
): Promise<FoundMessage[]> {
  // A cast, because the content of a hit by tool name may be bytes.
  const excerpt = sql<string | null>`
    cast(substr(m.content, max(1, instr(m.content, ${term}) - 40), 120) as text)`
  return db
    .selectFrom('messages as m')
    .crossJoin('sessions as s')
    .whereRef('s.id', '=', 'm.session_id')
    .where(inScope(scope))
    .where(filter)
    .select(hitColumns)
    .select(excerpt.as('snippet'))
    .orderBy('m.timestamp', 'desc')
    .orderBy('m.id')
    .limit(scope.limit)
    .offset(scope.offset)
    .execute(options)
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
] as const

function indexQuery(
  db: Kysely<Database>,
  index: SearchIndexName,
  p: IndexParams,
  order: SearchOrder,
) {
  const table = sql.ref(`hit.${index}`)
  // Column -1 is whichever the hit is in: files born at version 23 or later index three of them.
  const excerpt = sql<string | null>`snippet(${table}, -1, '>>>', '<<<', '...', 40)`
  const found = db
    // Cross joins keep the index outermost, which then also delivers in the order of rank.
    .selectFrom(sql<{ rowid: number; rank: number }>`${sql.table(index)}`.as('hit'))
    .crossJoin('messages as m')
    .crossJoin('sessions as s')
    .where(sql<SqlBool>`${table} match ${p.match}`)
    .whereRef('m.id', '=', 'hit.rowid')
    .whereRef('s.id', '=', 'm.session_id')
    .where(inScope(p))
    .select(hitColumns)
    .select(excerpt.as('snippet'))
    .limit(p.limit)
    .offset(p.offset)
  if (order === 'relevance') return found.orderBy('hit.rank')
  return found.orderBy('m.timestamp', order === 'newest' ? 'desc' : 'asc').orderBy('hit.rank')
}

/** One text whatever is wanted, so that one prepared statement serves every list. */
function inScope(p: SearchScope): RawBuilder<SqlBool> {
  return sql<SqlBool>`
    (${p.sources} is null or s.source in (select value from json_each(${p.sources})))
    and (${p.excludeSources} is null
      or s.source not in (select value from json_each(${p.excludeSources})))
    and (${p.sessionIds} is null
      or s.id in (select value from json_each(${p.sessionIds})))
    and (${p.roles} is null or m.role in (select value from json_each(${p.roles})))`
}

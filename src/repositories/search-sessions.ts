import { sql } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import type { TextRange } from '../schema/search-matcher.ts'
import { matcherOf } from '../schema/search-matcher.ts'
import type { SearchExpression } from '../schema/search-expression.ts'
import type { FoundBy } from './search-run.ts'
import type { SearchRequest, SearchScope } from './search-request.ts'
import { sessionInScope } from './search-scope.ts'

/** A session in which something was found. */
export interface FoundSession {
  readonly sessionId: string
  readonly title: string | null
  /** Where in the title the wanted terms stand; empty when they do not. */
  readonly titleHighlights: readonly TextRange[]
  readonly source: string
  readonly model: string | null
  readonly startedAt: number
}

/** The hits by session, in the order of the first one of each. */
export function bySession(found: readonly FoundBy[]): Map<string, FoundBy[]> {
  const sessions = new Map<string, FoundBy[]>()
  for (const hit of found) {
    const hits = sessions.get(hit.row.sessionId)
    if (hits) hits.push(hit)
    else sessions.set(hit.row.sessionId, [hit])
  }
  return sessions
}

/** Sessions whose title fits, the last started first. */
export async function findTitles(
  db: Handle,
  expression: SearchExpression,
  { scope, signal }: SearchRequest,
): Promise<FoundSession[]> {
  const spec = JSON.stringify(expression)
  const matcher = matcherOf(expression)
  const rows = await titles.all(db.heavy, { ...scope, spec }, signal && { signal })
  return rows.map((row) => ({ ...row, titleHighlights: matcher.ranges(row.title ?? '') }))
}

const titles = prepare<SearchScope & { spec: string }>()((db, p) =>
  db
    .selectFrom('sessions as s')
    .select(['s.id as sessionId', 's.title', 's.source', 's.model', 's.started_at as startedAt'])
    .where('s.title', 'is not', null)
    .where(sql<boolean>`store_fits(${p.spec}, s.title)`)
    .where(sessionInScope(p))
    .orderBy('s.started_at', 'desc')
    .orderBy('s.id')
    .limit(p.limit),
)

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { limitOf, offsetOf, optionalText, requireObject } from './input.ts'
import { latestActive } from './latest-active.ts'
import { summaryColumns, toSummary, type SessionSummary } from './session-row.ts'

/** Which of the sessions, the one last talked in first. */
export interface RecentSessionsOptions {
  source?: string
  /** -1 for all; 20 when absent. */
  limit?: number
  /** How many to leave out first; 0 when absent. */
  offset?: number
}

/** A session with the time it was last talked in. */
export interface RecentSession extends SessionSummary {
  /** Seconds since the epoch: the newest message, else the start. */
  lastActive: number
}

/** @throws {InvalidInputError} naming the option. */
export async function recentSessions(
  { heavy }: Pick<Handle, 'heavy'>,
  options: RecentSessionsOptions,
): Promise<RecentSession[]> {
  requireObject('options', options)
  const source = optionalText('source', options.source) ?? ''
  const limit = limitOf('limit', options.limit, 20)
  const offset = offsetOf('offset', options.offset)
  const recent = source === '' ? recentOfAll : recentOfSource
  const rows = await recent.all(heavy, {
    source,
    limit,
    offset,
    reach: limit < 0 ? -1 : limit + offset,
  })
  return rows.map((row) => Object.assign(toSummary(row), { lastActive: row.last_active }))
}

interface RecentParams {
  readonly source: string
  readonly limit: number
  readonly offset: number
  /** How many sessions, from the latest active one, the page and all before it hold. */
  readonly reach: number
}

const recentOfAll = buildRecent({ ofSource: false })
const recentOfSource = buildRecent({ ofSource: true })

function buildRecent(shape: { ofSource: boolean }) {
  return prepare<RecentParams>()((db, p) =>
    db
      .with('latest', (cte) => latestActive(cte, shape, p))
      .selectFrom('latest')
      .innerJoin('sessions', 'sessions.id', 'latest.id')
      .select(summaryColumns.map((column) => `sessions.${column}` as const))
      .select('latest.at as last_active')
      .orderBy('latest.at', 'desc')
      .orderBy('sessions.started_at', 'desc')
      .orderBy('sessions.id', 'desc')
      .limit(p.limit)
      .offset(p.offset),
  )
}

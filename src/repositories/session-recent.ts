import type { Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { limitOf, offsetOf, optionalText } from './input.ts'
import { summaryColumns, toSummary, type SessionSummary } from './session-row.ts'

export interface RecentSessionsOptions {
  source?: string
  /** -1 for all; 20 when absent. */
  limit?: number
  offset?: number
}

export interface RecentSession extends SessionSummary {
  /** Seconds since the epoch: the newest message, else the start. */
  lastActive: number
}

/** @throws {InvalidInputError} naming the option. */
export async function recentSessions(
  db: Kysely<Database>,
  options: RecentSessionsOptions,
): Promise<RecentSession[]> {
  const source = optionalText('source', options.source) ?? ''
  const limit = limitOf('limit', options.limit, 20)
  const offset = offsetOf('offset', options.offset)
  const recent = source === '' ? recentOfAll : recentOfSource
  const rows = await recent.all(db, {
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

/**
 * In two steps. Finding when each session was last active reads indexes alone; of the sessions
 * themselves only those are read that can be on the page.
 */
function buildRecent({ ofSource }: { ofSource: boolean }) {
  return prepare<RecentParams>()((db, p) =>
    db
      .with(
        (cte) => cte('active').materialized(),
        (cte) =>
          cte
            .selectFrom('sessions')
            .select((eb) => [
              'sessions.id',
              eb.fn
                .coalesce(
                  eb
                    .selectFrom('messages')
                    .select((of) => of.fn.max('messages.timestamp').as('newest'))
                    .whereRef('messages.session_id', '=', 'sessions.id'),
                  eb
                    .selectFrom('sessions as silent')
                    .select('silent.started_at')
                    .whereRef('silent.id', '=', 'sessions.id'),
                )
                .$notNull()
                .as('at'),
            ])
            .$if(ofSource, (query) => query.where('sessions.source', '=', p.source)),
      )
      .with('latest', (cte) =>
        cte.selectFrom('active').select('active.at').orderBy('active.at', 'desc').limit(p.reach),
      )
      .selectFrom('active')
      .innerJoin('sessions', 'sessions.id', 'active.id')
      .select(summaryColumns.map((column) => `sessions.${column}` as const))
      .select('active.at as last_active')
      .where('active.at', '>=', (eb) =>
        eb.selectFrom('latest').select((of) => of.fn.min('latest.at').as('earliest')),
      )
      .orderBy('active.at', 'desc')
      .orderBy('sessions.started_at', 'desc')
      .orderBy('sessions.id', 'desc')
      .limit(p.limit)
      .offset(p.offset),
  )
}

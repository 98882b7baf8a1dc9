import { sql, type Expression, type Kysely, type QueryCreator } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { carriesOn } from './lineage-queries.ts'

export interface ActiveSession {
  id: string
  /** Its newest message, else its start. */
  at: number
}

/**
 * The `reach` sessions that were active last, and whatever is level with the last of them; all for
 * -1. It reads indexes alone: in the rows of sessions the long prompts lie in the way.
 */
export function latestActive(
  db: QueryCreator<Database>,
  { ofSource }: { ofSource: boolean },
  p: { readonly source: string; readonly reach: number },
): Expression<ActiveSession> {
  return db
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
    .select(['active.id', 'active.at'])
    .where('active.at', '>=', (eb) =>
      eb.selectFrom('latest').select((of) => of.fn.min('latest.at').as('earliest')),
    )
}

/**
 * When whole conversations were last active, by the ids of their parts: at least of those that come
 * first, as many as `reach`; of all for -1 (spec §10).
 */
export async function conversationActivity(
  { heavy }: Pick<Handle, 'heavy'>,
  reach: number,
): Promise<Map<string, number>> {
  const sessions = await latest.all(heavy, { source: '', reach })
  const previousOf = await previousParts(heavy, sessions)
  const activity = new Map<string, number>()
  // From the latest on, each gives its time to the parts before it; one that has a later time
  // already has passed that on as well. So no part is met twice, however long or damaged the chain.
  for (const { id, at } of sessions) {
    let part: string | undefined = id
    while (part !== undefined && !activity.has(part)) {
      activity.set(part, at)
      part = previousOf.get(part)
    }
  }
  return activity
}

async function previousParts(
  db: Kysely<Database>,
  sessions: readonly ActiveSession[],
): Promise<Map<string, string>> {
  const ids = JSON.stringify(sessions.map(({ id }) => id))
  const rows = await previous.all(db, { ids })
  return new Map(rows.map((row) => [row.id, row.previous_id]))
}

const latest = prepare<{ source: string; reach: number }>()((db, p) =>
  db
    .with('latest_active', (cte) => latestActive(cte, { ofSource: false }, p))
    .selectFrom('latest_active')
    .select(['latest_active.id', 'latest_active.at'])
    .orderBy('latest_active.at', 'desc'),
)

/** From the given sessions up to the first parts of their conversations; UNION ends on a circle. */
const previous = prepare<{ ids: string }>()((db, p) =>
  db
    .withRecursive('line(id, previous_id)', (cte) =>
      cte
        .selectFrom(sql<{ value: string }>`json_each(${p.ids})`.as('given'))
        .innerJoin('sessions as next', 'next.id', 'given.value')
        .innerJoin('sessions as current', 'current.id', 'next.parent_session_id')
        .select(['next.id', 'current.id as previous_id'])
        .where(carriesOn())
        .union((recursive) =>
          recursive
            .selectFrom('line')
            .innerJoin('sessions as next', 'next.id', 'line.previous_id')
            .innerJoin('sessions as current', 'current.id', 'next.parent_session_id')
            .select(['next.id', 'current.id as previous_id'])
            .where(carriesOn()),
        ),
    )
    .selectFrom('line')
    .select(['line.id', 'line.previous_id']),
)

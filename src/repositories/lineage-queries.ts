import type { Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'

const LONGEST = 100

const upwards = prepare<{ id: string; longest: number }>()((db, p) =>
  db
    .withRecursive('line(id, parent_session_id, step)', (cte) =>
      cte
        .selectFrom('sessions')
        .select((eb) => ['id', 'parent_session_id', eb.lit(1).as('step')])
        .where('id', '=', p.id)
        .unionAll((eb) =>
          eb
            .selectFrom('line')
            .innerJoin('sessions', 'sessions.id', 'line.parent_session_id')
            .select((step) => [
              'sessions.id',
              'sessions.parent_session_id',
              step('line.step', '+', step.lit(1)).as('step'),
            ])
            .where('line.step', '<', p.longest),
        ),
    )
    .selectFrom('line')
    .select('id')
    .orderBy('step'),
)

/**
 * The session and those it came from, oldest first: at most 100, the oldest missing, and up to the
 * first repeat where damaged data go in a circle (spec §9). Empty when there is no such session.
 */
export async function ancestorIds(db: Kysely<Database>, id: string): Promise<string[]> {
  const seen = new Set<string>()
  for (const row of await upwards.all(db, { id, longest: LONGEST })) {
    if (seen.has(row.id)) break
    seen.add(row.id)
  }
  return [...seen].toReversed()
}

import { expressionBuilder, sql, type Expression, type Kysely, type QueryCreator } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'

/** How many steps a walk goes before it takes the data to be damaged (spec §9). */
const LONGEST = 100
/** The same for the walk from a session in which nothing was said. */
const LONGEST_TO_MESSAGES = 32

interface Edge extends Database {
  current: Database['sessions']
  next: Database['sessions']
}

/** Whether the session aliased `next`, a child of `current`, carries on its compressed conversation. */
export function carriesOn() {
  const eb = expressionBuilder<Edge, 'current' | 'next'>()
  return eb.and([
    eb('current.end_reason', '=', 'compression'),
    eb('next.started_at', '>=', eb.ref('current.ended_at')),
  ])
}

/** The part that carries a conversation on; of several the one that started last. */
function nextPart(id: Expression<string | null>) {
  return expressionBuilder<Database>()
    .selectFrom('sessions as current')
    .innerJoin('sessions as next', 'next.parent_session_id', 'current.id')
    .select('next.id')
    .where('current.id', '=', id)
    .where(carriesOn())
    .orderBy('next.started_at', 'desc')
    .orderBy(sql`next.rowid`)
    .limit(sql.lit(1))
}

/** The tip of each session in `root`, often itself; for lists and for one (spec §9). */
export function tipsOfRoots(
  db: QueryCreator<Database & { root: { id: string } }>,
): Expression<{ root_id: string; id: string }> {
  return db
    .withRecursive('walk(root_id, id, step)', (cte) =>
      cte
        .selectFrom('root')
        .select((eb) => [
          'root.id as root_id',
          eb.ref('root.id').$castTo<string | null>().as('id'),
          eb.lit<number>(0).as('step'),
        ])
        .unionAll((recursive) =>
          recursive
            .selectFrom('walk')
            .select((eb) => [
              'walk.root_id',
              nextPart(eb.ref('walk.id')).as('id'),
              eb('walk.step', '+', eb.lit(1)).as('step'),
            ])
            .where('walk.id', 'is not', null)
            .where('walk.step', '<', sql.lit(LONGEST)),
        ),
    )
    .selectFrom('walk')
    .select((eb) => [
      'walk.root_id',
      'walk.id',
      // SQLite takes the other columns from the row that has the maximum.
      eb.fn.max('walk.step').as('steps'),
    ])
    .where('walk.id', 'is not', null)
    .groupBy('walk.root_id')
    .$narrowType<{ id: string }>()
}

const ancestors = prepare<{ id: string }>()((db, p) =>
  db
    .withRecursive('line(id, step)', (cte) =>
      cte
        .selectNoFrom((eb) => [eb.val<string | null>(p.id).as('id'), eb.lit<number>(1).as('step')])
        .unionAll((recursive) =>
          recursive
            .selectFrom('line')
            .innerJoin('sessions', 'sessions.id', 'line.id')
            .select((eb) => [
              'sessions.parent_session_id as id',
              eb('line.step', '+', eb.lit(1)).as('step'),
            ])
            .where('line.step', '<', sql.lit(LONGEST)),
        ),
    )
    .selectFrom('line')
    .select('line.id')
    .orderBy('line.step'),
)

/**
 * The ids from the oldest ancestor down to the session itself: at most 100, the oldest missing, and
 * up to the first repeat where damaged data go in a circle (spec §9).
 */
export async function ancestorIds(db: Kysely<Database>, id: string): Promise<string[]> {
  const line = new Set<string>()
  for (const ancestor of await ancestors.all(db, { id })) {
    if (ancestor.id === null || line.has(ancestor.id)) break
    line.add(ancestor.id)
  }
  return [...line].toReversed()
}

const tip = prepare<{ id: string }>()((db, p) =>
  db
    .with('root', (cte) => cte.selectNoFrom((eb) => eb.val(p.id).as('id')))
    .with('tip', (cte) => tipsOfRoots(cte))
    .selectFrom('tip')
    .select('tip.id'),
)

export async function tipId(db: Kysely<Database>, id: string): Promise<string> {
  return (await tip.first(db, { id }))?.id ?? id
}

const descendants = prepare<{ id: string }>()((db, p) =>
  db
    // Without a step, so that UNION ends on a circle.
    .withRecursive('line(id, started_at)', (cte) =>
      cte
        .selectFrom('sessions')
        .select(['sessions.id', 'sessions.started_at'])
        .where('sessions.parent_session_id', '=', p.id)
        .union((recursive) =>
          recursive
            .selectFrom('line')
            .innerJoin('sessions', 'sessions.parent_session_id', 'line.id')
            .select(['sessions.id', 'sessions.started_at']),
        ),
    )
    .selectFrom('line')
    .select('line.id')
    .where('line.id', '!=', p.id)
    .orderBy('line.started_at')
    .orderBy('line.id'),
)

export async function descendantIds(db: Kysely<Database>, id: string): Promise<string[]> {
  return (await descendants.all(db, { id })).map((row) => row.id)
}

const firstWithMessages = prepare<{ id: string }>()((db, p) =>
  db
    .withRecursive('walk(id, step)', (cte) =>
      cte
        .selectNoFrom((eb) => [eb.val<string | null>(p.id).as('id'), eb.lit<number>(0).as('step')])
        .unionAll((recursive) =>
          recursive
            .selectFrom('walk')
            .select((eb) => [
              eb
                .selectFrom('sessions as child')
                .select('child.id')
                .whereRef('child.parent_session_id', '=', 'walk.id')
                .orderBy('child.started_at', 'desc')
                .orderBy('child.id', 'desc')
                .limit(sql.lit(1))
                .as('id'),
              eb('walk.step', '+', eb.lit(1)).as('step'),
            ])
            .where('walk.id', 'is not', null)
            .where('walk.step', '<', sql.lit(LONGEST_TO_MESSAGES)),
        ),
    )
    .selectFrom('walk')
    .select('walk.id')
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('messages')
          .select('messages.id')
          .whereRef('messages.session_id', '=', 'walk.id'),
      ),
    )
    .orderBy('walk.step')
    .limit(sql.lit(1)),
)

export async function resumeTarget(db: Kysely<Database>, id: string): Promise<string> {
  return (await firstWithMessages.first(db, { id }))?.id ?? id
}

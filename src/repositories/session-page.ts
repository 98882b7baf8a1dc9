import { sql, type Expression, type QueryCreator } from 'kysely'

import type { Database } from '../schema/database.ts'
import { carriesOn } from './lineage-queries.ts'
import { lastActive } from './session-activity.ts'

/** Which filters a list has and how it is ordered; one compiled query for each combination. */
export interface PageShape {
  readonly source: boolean
  readonly exclude: boolean
  readonly children: boolean
  readonly byActivity: boolean
}

export interface PageParams {
  readonly source: string
  /** A JSON list: one SQL text whatever its length. */
  readonly excluded: string
  readonly limit: number
  readonly offset: number
}

interface PageRow {
  id: string
  /** `rowid`, which decides between sessions that started at the same time. */
  row: number
  started_at: number
  /** What the page is ordered by. */
  activity: number
}

/** A whole conversation is a few parts long; a damaged file must not cost the square of its length. */
const LONGEST_WITH_CHILDREN = 100

/** The sessions of one page of a list, still without what is shown of them (spec §10). */
export function pageOfSessions(
  db: QueryCreator<Database>,
  shape: PageShape,
  p: PageParams,
): Expression<PageRow> {
  return shape.byActivity ? byActivity(db, shape, p) : byStart(db, shape, p)
}

function byStart(db: QueryCreator<Database>, shape: PageShape, p: PageParams) {
  return listed(db, shape, p)
    .select('s.started_at as activity')
    .orderBy('s.started_at', 'desc')
    .orderBy('row')
    .limit(p.limit)
    .offset(p.offset)
}

function byActivity(db: QueryCreator<Database>, shape: PageShape, p: PageParams) {
  return db
    .withRecursive('listed', (cte) =>
      listed(cte, shape, p).select((eb) => [
        's.end_reason',
        lastActive({ id: eb.ref('s.id'), startedAt: eb.ref('s.started_at') }).as('own'),
      ]),
    )
    .withRecursive('part(root_id, id, step)', (cte) =>
      cte
        .selectFrom('listed')
        .select((eb) => ['listed.id as root_id', 'listed.id', eb.lit<number>(0).as('step')])
        .where('listed.end_reason', '=', 'compression')
        .unionAll((recursive) =>
          recursive
            .selectFrom('part')
            .innerJoin('sessions as current', 'current.id', 'part.id')
            .innerJoin('sessions as next', 'next.parent_session_id', 'current.id')
            .select((eb) => ['part.root_id', 'next.id', eb('part.step', '+', eb.lit(1)).as('step')])
            .where(carriesOn())
            .$if(shape.children, (query) =>
              query.where('part.step', '<', sql.lit(LONGEST_WITH_CHILDREN)),
            ),
        ),
    )
    .with('conversation', (cte) =>
      cte
        .selectFrom('part')
        .innerJoin('sessions as s', 's.id', 'part.id')
        .select((eb) => [
          'part.root_id',
          eb.fn
            .max(lastActive({ id: eb.ref('s.id'), startedAt: eb.ref('s.started_at') }))
            .as('newest'),
        ])
        .groupBy('part.root_id'),
    )
    .selectFrom('listed')
    .leftJoin('conversation', 'conversation.root_id', 'listed.id')
    .select((eb) => [
      'listed.id',
      'listed.row',
      'listed.started_at',
      eb.fn.coalesce('conversation.newest', 'listed.own').as('activity'),
    ])
    .orderBy('activity', 'desc')
    .orderBy('listed.started_at', 'desc')
    .orderBy('listed.id', 'desc')
    .limit(p.limit)
    .offset(p.offset)
}

/** What passes the filters. Without children: what has no parent, or branched off an ended one. */
function listed(db: QueryCreator<Database>, shape: PageShape, p: PageParams) {
  return (
    db
      .selectFrom('sessions as s')
      .select(['s.id', 's.started_at', sql<number>`s.rowid`.as('row')])
      .$if(!shape.children, (query) =>
        query.where((eb) =>
          eb.or([
            eb('s.parent_session_id', 'is', null),
            eb.exists(
              eb
                .selectFrom('sessions as parent')
                .select('parent.id')
                .whereRef('parent.id', '=', 's.parent_session_id')
                .where('parent.end_reason', '=', 'branched')
                .whereRef('parent.ended_at', '<=', 's.started_at'),
            ),
          ]),
        ),
      )
      // The plus keeps SQLite from its index of sources: walking the sessions from the newest ends
      // after a page, while a common source would have to be sorted whole.
      .$if(shape.source, (query) => query.where(sql<string>`+s.source`, '=', p.source))
      .$if(shape.exclude, (query) =>
        query.where(
          's.source',
          'not in',
          sql<string>`(select value from json_each(${p.excluded}))`,
        ),
      )
  )
}

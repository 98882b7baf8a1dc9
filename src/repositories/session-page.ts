import { sql, type Expression, type QueryCreator } from 'kysely'

import type { Database } from '../schema/database.ts'

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
  /** A JSON list of pairs of id and time: when conversations were last active. */
  readonly activity: string
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
  const activity = sql<{ id: string; at: number }>`(
    select value ->> 0 as id, value ->> 1 as at from json_each(${p.activity})
  )`
  return listed(db, shape, p)
    .innerJoin(activity.as('active'), 'active.id', 's.id')
    .select('active.at as activity')
    .orderBy('active.at', 'desc')
    .orderBy('s.started_at', 'desc')
    .orderBy('s.id', 'desc')
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

import { expressionBuilder, sql, type Expression } from 'kysely'

import type { Database } from '../schema/database.ts'
import { pyStrip, sliceCodePoints } from '../schema/python-text.ts'

const SHOWN = 60
/** A little more is read than is shown: what is over says whether the rest goes on (spec §10). */
const READ = 63

/** When the session was last written to: its newest message, else its start (spec §10). */
export function lastActive(session: { id: Expression<string>; startedAt: Expression<number> }) {
  const eb = expressionBuilder<Database>()
  return eb.fn.coalesce(
    eb
      .selectFrom('messages')
      .select((of) => of.fn.max('messages.timestamp').as('newest'))
      .where('messages.session_id', '=', session.id),
    session.startedAt,
  )
}

/** The beginning of the first thing a user said; give it to `toPreview` (spec §10). */
export function firstWords(sessionId: Expression<string>) {
  return expressionBuilder<Database>()
    .selectFrom('messages')
    .select(
      // Text ends at U+0000 here, so that structured content has no preview.
      sql<string>`substr(cast(${sql.ref('messages.content')} as text), 1, ${sql.lit(READ)})`.as(
        'words',
      ),
    )
    .where('messages.session_id', '=', sessionId)
    .where('messages.role', '=', 'user')
    .where('messages.content', 'is not', null)
    .orderBy('messages.timestamp')
    .orderBy('messages.id')
    .limit(sql.lit(1))
}

export function toPreview(words: string | null): string {
  const line = pyStrip((words ?? '').replaceAll(/[\n\r]/g, ' '))
  const shown = sliceCodePoints(line, SHOWN)
  return shown === line ? line : `${shown}...`
}

import { prepare } from '../database/prepared-query.ts'
import { messageColumns } from './message-row.ts'

/**
 * Messages of a session by id. The ids are looked up first, in the index alone: the long messages
 * before and after the page stay unread.
 */
export const pageOfMessages = prepare<{
  sessionId: string
  /** The last id of the page before. */
  afterId: number
  /** -1 is all. */
  limit: number
}>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('session_id', '=', p.sessionId)
        .where('id', '>', p.afterId)
        .orderBy('id')
        .limit(p.limit),
    )
    .orderBy('id'),
)

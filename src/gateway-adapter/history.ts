import type { Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import {
  chatMessageColumns,
  toChatMessage,
  type ChatMessage,
} from '../repositories/conversation.ts'
import type { Database } from '../schema/database.ts'

export interface HistoryOptions {
  /** At most so many messages, the newest; -1 for all. */
  readonly limit: number
  /** The stored message that is to be answered now. It comes last, and what came in after it waits. */
  readonly answering?: number | undefined
}

const newest = prepare<{ sessionId: string; answering: number; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', ...chatMessageColumns])
    .where('session_id', '=', p.sessionId)
    .where('id', 'not in', (eb) =>
      eb
        .selectFrom('store_inbound')
        .select('message_id')
        .where('message_id', '>', p.answering)
        .where('settled_at', 'is', null),
    )
    .orderBy('id', 'desc')
    .limit(p.limit),
)

/** What a model is sent: the end of the session, never beginning with a tool's answer to a lost call. */
export async function readHistory(
  db: Kysely<Database>,
  sessionId: string,
  { limit, answering }: HistoryOptions,
): Promise<ChatMessage[]> {
  const rows = (
    await newest.all(db, { sessionId, answering: answering ?? Number.MAX_SAFE_INTEGER, limit })
  ).toReversed()
  // Stored while another turn was under way, whose answer therefore has the greater id.
  const asked = rows.findIndex(({ id }) => id === answering)
  if (asked !== -1) rows.push(...rows.splice(asked, 1))
  const first = rows.findIndex(({ role }) => role !== 'tool')
  return first === -1 ? [] : rows.slice(first).map(toChatMessage)
}

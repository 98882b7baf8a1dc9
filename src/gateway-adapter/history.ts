import { type Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import {
  chatMessageColumns,
  toChatMessage,
  type ChatMessage,
} from '../repositories/conversation.ts'
import { limitOf } from '../repositories/input.ts'
import type { Database } from '../schema/database.ts'
import { callableOf, optionsOf, rowIdOf } from './arguments.ts'
import { estimateTokens } from './token-estimate.ts'

/** How much of a conversation a model is sent. */
export interface HistoryOptions {
  /** At most so many messages, the newest; -1, the default, for all. */
  readonly limit?: number | undefined
  /** At most so many tokens. The newest message is there even when it has more. */
  readonly maxTokens?: number | undefined
  /** How many tokens a message has; by default a guess on the high side for most languages. */
  readonly countTokens?: ((message: ChatMessage) => number) | undefined
  /** The stored message that is to be answered now. It comes last, and what came in after it waits. */
  readonly answering?: number | undefined
}

type Row = Awaited<ReturnType<typeof newest.all>>[number]

const PAGE = 64

/**
 * What a model is sent: the end of the session. It never begins within an exchange with tools: the
 * result of a call that is cut off would be refused.
 * @throws {InvalidInputError} for a limit that is none.
 */
export async function readHistory(
  db: Kysely<Database>,
  sessionId: string,
  options: HistoryOptions | undefined,
): Promise<ChatMessage[]> {
  const given = optionsOf('options', options)
  const { answering, countTokens = estimateTokens } = given
  callableOf('countTokens', countTokens)
  if (answering !== undefined) rowIdOf('answering', answering)
  const limit = countOf('limit', given.limit)
  const maxTokens = countOf('maxTokens', given.maxTokens)
  const newestFirst: ChatMessage[] = []
  let tokens = 0
  for await (const row of rowsBackwards(db, sessionId, answering, limit)) {
    const message = toChatMessage(row)
    tokens += maxTokens === Infinity ? 0 : countTokens(message)
    if (newestFirst.length === limit) break
    if (tokens > maxTokens && newestFirst.length > 0) break
    newestFirst.push(message)
  }
  const messages = newestFirst.toReversed()
  const first = messages.findIndex(({ role }) => role !== 'tool')
  return first === -1 ? [] : messages.slice(first)
}

/** The message to answer first, though others with a greater id may be older in the conversation. */
async function* rowsBackwards(
  db: Kysely<Database>,
  sessionId: string,
  answering: number | undefined,
  limit: number,
): AsyncGenerator<Row> {
  const asked =
    answering === undefined ? undefined : await byId.first(db, { id: answering, sessionId })
  if (asked) yield asked
  const waiting = asked?.id ?? Number.MAX_SAFE_INTEGER
  let before = Number.MAX_SAFE_INTEGER
  let rows: Row[]
  do {
    rows = await newest.all(db, { sessionId, waiting, before, limit: Math.min(limit, PAGE) })
    for (const row of rows) if (row.id !== asked?.id) yield row
    before = rows.at(-1)?.id ?? before
  } while (rows.length === PAGE)
}

function countOf(field: string, value: number | undefined): number {
  const count = limitOf(field, value, -1)
  return count === -1 ? Infinity : count
}

const byId = prepare<{ id: number; sessionId: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', ...chatMessageColumns])
    .where('id', '=', p.id)
    .where('session_id', '=', p.sessionId),
)

// What came in after the message to answer is left out as long as it waits itself.
const newest = prepare<{ sessionId: string; waiting: number; before: number; limit: number }>()(
  (db, p) =>
    db
      .selectFrom('messages')
      .select(['id', ...chatMessageColumns])
      .where('session_id', '=', p.sessionId)
      .where('id', '<', p.before)
      .where('id', 'not in', (eb) =>
        eb
          .selectFrom('store_inbound')
          .select('message_id')
          .where('message_id', '>', p.waiting)
          .where('settled_at', 'is', null),
      )
      .orderBy('id', 'desc')
      .limit(p.limit),
)

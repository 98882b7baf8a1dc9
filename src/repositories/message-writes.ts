import { sql, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { atOnceIn, type ChangeAtOnce } from '../database/write-at-once.ts'
import { ConstraintError, SessionNotFoundError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { withIndexRepair } from './index-repair.ts'
import type { EncodedMessage } from './message-row.ts'
import { pauseAfter } from './pacing.ts'
import { cutAtNul, dropNuls } from './trigram-nul.ts'

type Columns = Omit<EncodedMessage, 'toolCallCount' | 'hasNul'>

const MESSAGES_AT_ONCE = 16
const ROWS_PER_DELETE = 100

/** Smallest step by which the times of messages written together rise: one microsecond. */
const TIMESTAMP_STEP = 1e-6

const insert = prepare<Columns & { session_id: string; timestamp: number }>()((db, p) =>
  db.insertInto('messages').values({
    session_id: p.session_id,
    role: p.role,
    content: p.content,
    tool_call_id: p.tool_call_id,
    tool_calls: p.tool_calls,
    tool_name: p.tool_name,
    timestamp: p.timestamp,
    token_count: p.token_count,
    finish_reason: p.finish_reason,
    reasoning: p.reasoning,
    reasoning_content: p.reasoning_content,
    reasoning_details: p.reasoning_details,
    codex_reasoning_items: p.codex_reasoning_items,
    codex_message_items: p.codex_message_items,
  }),
)

const addCounts = prepare<Counts & { id: string }>()((db, p) =>
  db
    .updateTable('sessions')
    .set((eb) => ({
      message_count: eb('message_count', '+', p.messages),
      tool_call_count: eb('tool_call_count', '+', p.toolCalls),
    }))
    .where('id', '=', p.id),
)

const setCounts = prepare<Counts & { id: string }>()((db, p) =>
  db
    .updateTable('sessions')
    .set({ message_count: p.messages, tool_call_count: p.toolCalls })
    .where('id', '=', p.id),
)

const someIds = prepare<{ sessionIds: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('session_id', 'in', sql<string>`(select value from json_each(${p.sessionIds}))`)
    .limit(p.limit),
)

const remove = prepare<{ ids: string }>()((db, p) =>
  db.deleteFrom('messages').where('id', 'in', sql<number>`(select value from json_each(${p.ids}))`),
)

interface Counts {
  readonly messages: number
  readonly toolCalls: number
}

/**
 * Inserts them in order and returns their ids; their times rise from `now`, so that every reader
 * sees the order in which they were given.
 * @throws {SessionNotFoundError}
 */
export async function insertMessages(
  trx: Transaction<Database>,
  sessionId: string,
  messages: readonly EncodedMessage[],
  now: number,
): Promise<number[]> {
  const ids: number[] = []
  const idsWithNul: number[] = []
  let timestamp = now
  for (const message of messages) {
    const id = await insertMessage(trx, sessionId, message, timestamp)
    ids.push(id)
    if (message.hasNul) idsWithNul.push(id)
    timestamp += TIMESTAMP_STEP
    await pauseAfter(ids.length)
  }
  if (idsWithNul.length > 0) await dropNuls(trx, idsWithNul)
  return ids
}

/**
 * The same, counters included, for `Handle.write` to try first; undefined where it would hold the event
 * loop up or the index has to be corrected after it.
 */
export function insertionAtOnce(
  sessionId: string,
  messages: readonly EncodedMessage[],
): ChangeAtOnce<number[]> | undefined {
  if (messages.length > MESSAGES_AT_ONCE || messages.some((message) => message.hasNul)) {
    return undefined
  }
  return (run) => {
    let timestamp = nowSeconds()
    const ids = messages.map((message) => {
      const { insertId } = insert.runAtOnce(run, { ...message, session_id: sessionId, timestamp })
      timestamp += TIMESTAMP_STEP
      return insertId
    })
    addCounts.runAtOnce(run, { id: sessionId, ...countsOf(messages) })
    return ids
  }
}

async function insertMessage(
  trx: Transaction<Database>,
  sessionId: string,
  message: EncodedMessage,
  timestamp: number,
): Promise<number> {
  const row = { ...message, session_id: sessionId, timestamp }
  const run = atOnceIn(trx)
  try {
    if (run) return insert.runAtOnce(run, row).insertId
    const { insertId } = await insert.run(trx, row)
    return Number(insertId)
  } catch (error) {
    if (isForeignKeyFailure(error)) throw new SessionNotFoundError(sessionId, { cause: error })
    throw error
  }
}

/** Deletes all of theirs, a few at a time, so that the rest of the process gets its turns. */
export async function deleteMessages(
  trx: Transaction<Database>,
  sessionIds: readonly string[],
): Promise<void> {
  const of = { sessionIds: JSON.stringify(sessionIds), limit: ROWS_PER_DELETE }
  let ids: number[]
  do {
    ids = (await someIds.all(trx, of)).map((row) => row.id)
    if (ids.length > 0) await deleteById(trx, ids)
    await pauseAfter(ids.length)
  } while (ids.length === ROWS_PER_DELETE)
}

/** Only the rows and what the indexes have of them; a few, for the process waits. */
export async function deleteById(
  trx: Transaction<Database>,
  messageIds: readonly number[],
): Promise<void> {
  await cutAtNul(trx, messageIds)
  const ids = JSON.stringify(messageIds)
  await withIndexRepair(trx, () => remove.run(trx, { ids }))
}

export async function addToCounters(
  trx: Transaction<Database>,
  sessionId: string,
  messages: readonly EncodedMessage[],
): Promise<void> {
  await addCounts.run(trx, { id: sessionId, ...countsOf(messages) })
}

export async function setCounters(
  trx: Transaction<Database>,
  sessionId: string,
  messages: readonly EncodedMessage[],
): Promise<void> {
  await setCounts.run(trx, { id: sessionId, ...countsOf(messages) })
}

function countsOf(messages: readonly EncodedMessage[]): Counts {
  let toolCalls = 0
  for (const message of messages) toolCalls += message.toolCallCount
  return { messages: messages.length, toolCalls }
}

function isForeignKeyFailure(error: unknown): boolean {
  return error instanceof ConstraintError && error.sqliteCode === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

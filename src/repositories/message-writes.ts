import { sql, type Transaction } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import type { ChangeAtOnce } from '../database/write-at-once.ts'
import { ConstraintError, SessionNotFoundError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { withIndexRepair } from './index-repair.ts'
import type { EncodedMessage } from './message-row.ts'
import { pauseAfter } from './pacing.ts'
import { cutAtNul, dropNuls } from './trigram-nul.ts'

/** What a message gets where it is put. */
interface Placed {
  readonly session_id: string
  readonly timestamp: number
}
type Columns = Omit<EncodedMessage, 'toolCallCount' | 'hasNul'> & Placed

const MESSAGES_AT_ONCE = 16
/** What SQLite indexes or takes out of the indexes in some ten milliseconds, in characters. */
const LONG_TEXT = 65_536
const ROWS_PER_INSERT = 50
const ROWS_PER_DELETE = 100

/** Smallest step by which the times of messages written together rise: one microsecond. */
const TIMESTAMP_STEP = 1e-6

const insert = prepare<Columns>()((db, p) =>
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

// Without reading a text: its length stands before it.
const textOf = prepare<{ sessionIds: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(
      sql<number>`sum(ifnull(octet_length(content), 0) + ifnull(octet_length(tool_calls), 0))`.as(
        'bytes',
      ),
    )
    .where('session_id', 'in', sql<string>`(select value from json_each(${p.sessionIds}))`),
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
  let timestamp = now
  while (ids.length < messages.length) {
    const rows = messages.slice(ids.length, ids.length + ROWS_PER_INSERT).map((message) => {
      const row = { ...message, session_id: sessionId, timestamp }
      timestamp += TIMESTAMP_STEP
      return row
    })
    ids.push(...(await insertRows(trx, sessionId, rows)))
    await pauseAfter(ids.length)
  }
  const idsWithNul = ids.filter((_, index) => messages[index]?.hasNul)
  if (idsWithNul.length > 0) await dropNuls(trx, idsWithNul)
  return ids
}

/** Whether storing them takes longer than the event loop should wait. */
export function areLong(messages: readonly EncodedMessage[]): boolean {
  let characters = 0
  for (const { content, tool_name, tool_calls } of messages) {
    for (const text of [content, tool_name, tool_calls]) characters += text?.length ?? 0
  }
  return characters > LONG_TEXT
}

/** Whether deleting all messages of these sessions takes longer than the event loop should wait. */
export async function haveLong(db: Handle, sessionIds: readonly string[]): Promise<boolean> {
  const found = await textOf.first(db.heavy, { sessionIds: JSON.stringify(sessionIds) })
  return (found?.bytes ?? 0) > LONG_TEXT
}

/**
 * The same as `insertMessages`, counters included, for `Handle.write` to try first; undefined where it would hold the event
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

async function insertRows(
  trx: Transaction<Database>,
  sessionId: string,
  rows: readonly (EncodedMessage & Placed)[],
): Promise<readonly number[]> {
  try {
    return await insert.insertAll(trx, rows)
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

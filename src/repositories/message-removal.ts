import { sql, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { toMessage, type MessageRow } from './message-row.ts'
import { deleteById } from './message-writes.ts'
import { countToolCalls } from './tool-calls.ts'

interface Counts {
  readonly sessionId: string
  readonly messages: number
  readonly toolCalls: number
}

/** Takes messages out of their sessions: the rows, what the indexes have of them, and what was counted. */
export async function removeMessages(
  trx: Transaction<Database>,
  rows: readonly MessageRow[],
): Promise<void> {
  await deleteById(
    trx,
    rows.map(({ id }) => id),
  )
  await addToCounts(trx, rows, -1)
}

/** Counts messages that were put into their sessions, or with -1 those that were taken out. */
export async function addToCounts(
  trx: Transaction<Database>,
  rows: readonly MessageRow[],
  sign: 1 | -1 = 1,
): Promise<void> {
  for (const [sessionId, itsRows] of Map.groupBy(rows, (row) => row.session_id)) {
    const toolCalls = itsRows.reduce((sum, row) => sum + toolCallsOf(row), 0)
    await add.run(trx, { sessionId, messages: sign * itsRows.length, toolCalls: sign * toolCalls })
  }
}

function toolCallsOf(row: MessageRow): number {
  return countToolCalls(toMessage(row).toolCalls)
}

// Whoever wrote before may have miscounted: never below zero.
const add = prepare<Counts>()((db, p) =>
  db
    .updateTable('sessions')
    .set({
      message_count: sql`max(0, message_count + ${p.messages})`,
      tool_call_count: sql`max(0, tool_call_count + ${p.toolCalls})`,
    })
    .where('id', '=', p.sessionId),
)

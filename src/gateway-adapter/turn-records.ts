import type { Kysely, Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'

export interface NewTurnRecord {
  readonly routeId: number
  readonly sessionId: string
  readonly operationId: string | null
  readonly answers: number | null
  readonly messageIds: readonly number[]
}

const byOperation = prepare<{ routeId: number; operationId: string }>()((db, p) =>
  db
    .selectFrom('store_turns')
    .select('message_ids')
    .where('route_id', '=', p.routeId)
    .where('operation_id', '=', p.operationId),
)

const byAnswered = prepare<{ answers: number }>()((db, p) =>
  db.selectFrom('store_turns').select('message_ids').where('answers', '=', p.answers),
)

const add = prepare<Omit<NewTurnRecord, 'messageIds'> & { messageIds: string; now: number }>()(
  (db, p) =>
    db.insertInto('store_turns').values({
      route_id: p.routeId,
      session_id: p.sessionId,
      operation_id: p.operationId,
      answers: p.answers,
      message_ids: p.messageIds,
      recorded_at: p.now,
    }),
)

/** What an earlier turn of that operation stored in the same conversation. */
export async function findOperation(
  db: Kysely<Database>,
  routeId: number,
  operationId: string,
): Promise<number[] | undefined> {
  const row = await byOperation.first(db, { routeId, operationId })
  return row && idsOf(row.message_ids)
}

/** What the turn that answered the message stored; nothing when the message was given up. */
export async function findAnswer(db: Kysely<Database>, answered: number): Promise<number[]> {
  const row = await byAnswered.first(db, { answers: answered })
  return row ? idsOf(row.message_ids) : []
}

export async function addTurnRecord(
  trx: Transaction<Database>,
  turn: NewTurnRecord,
): Promise<number> {
  const messageIds = JSON.stringify(turn.messageIds)
  const { insertId } = await add.run(trx, { ...turn, messageIds, now: nowSeconds() })
  return Number(insertId)
}

function idsOf(json: string): number[] {
  return JSON.parse(json) as number[]
}

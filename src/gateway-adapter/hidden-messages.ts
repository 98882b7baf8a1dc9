import { sql, type Kysely, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { withIndexRepair } from '../repositories/index-repair.ts'
import { addToCounts, removeMessages } from '../repositories/message-removal.ts'
import { messageColumns, toMessage, type Message } from '../repositories/message-row.ts'
import { dropNuls } from '../repositories/trigram-nul.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { settleClaim } from './claims.ts'
import { finish } from './outbox-rows.ts'

// Hermes shows, searches and sends to the model every row of `messages`, and knows no mark that says not
// to. So what is hidden leaves that table, and the session's counters say so.

/** `deleted` in the chat, or `undone` with its turn. */
export type HiddenReason = 'deleted' | 'undone'

/** A message that was taken out of its session, under the id it had. */
export interface HiddenMessage extends Message {
  readonly reason: HiddenReason
  /** Seconds since the epoch. */
  readonly hiddenAt: number
}

const ROWS_PER_STEP = 100

/**
 * Takes the messages out of their sessions. What waited for an answer waits no more, and what was not
 * sent yet is not sent. Returns the ids that were there.
 */
export async function hideMessages(
  trx: Transaction<Database>,
  messageIds: readonly number[],
  reason: HiddenReason,
): Promise<number[]> {
  const hidden: number[] = []
  for (let from = 0; from < messageIds.length; from += ROWS_PER_STEP) {
    const some = messageIds.slice(from, from + ROWS_PER_STEP)
    hidden.push(...(await hideSome(trx, some, reason)))
  }
  return hidden
}

async function hideSome(
  trx: Transaction<Database>,
  messageIds: readonly number[],
  reason: HiddenReason,
): Promise<number[]> {
  const ids = JSON.stringify(messageIds)
  const rows = await visible.all(trx, { ids })
  const found = rows.map(({ id }) => id)
  await copyOut.run(trx, { ids, reason, now: nowSeconds() })
  await removeMessages(trx, rows)
  for (const id of found) await settleClaim(trx, id, null)
  for (const { id } of await unsent.all(trx, { ids })) {
    await finish.run(trx, { id, now: nowSeconds() })
  }
  return found
}

/** Puts messages back where they were. Returns the ids that were hidden. */
export async function showMessages(
  trx: Transaction<Database>,
  sessionId: string,
  messageIds: readonly number[],
): Promise<number[]> {
  const ids = JSON.stringify(messageIds)
  const rows = await hiddenRows.all(trx, { ids, sessionId })
  const found = rows.map(({ id }) => id)
  const back = { ids: JSON.stringify(found) }
  await withIndexRepair(trx, () => copyBack.run(trx, back))
  await dropNuls(trx, found)
  await forget.run(trx, back)
  await addToCounts(trx, rows)
  return found
}

/** What was taken out of the session, in the order it was said. */
export async function listHidden(
  db: Kysely<Database>,
  sessionId: string,
): Promise<HiddenMessage[]> {
  const rows = await bySession.all(db, { sessionId })
  return rows.map((row) => ({
    ...toMessage(row),
    reason: row.reason as HiddenReason,
    hiddenAt: row.hidden_at,
  }))
}

const visible = prepare<{ ids: string }>()((db, p) =>
  db.selectFrom('messages').select(messageColumns).where('id', 'in', listed(p.ids)).orderBy('id'),
)

const copyOut = prepare<{ ids: string; reason: HiddenReason; now: number }>()((db, p) =>
  db
    .insertInto('store_hidden_messages')
    .columns(['hidden_at', 'reason', ...messageColumns])
    .expression((eb) =>
      eb
        .selectFrom('messages')
        .select([
          eb.val(p.now).as('hidden_at'),
          eb.val<string>(p.reason).as('reason'),
          ...messageColumns,
        ])
        .where('id', 'in', listed(p.ids)),
    ),
)

const unsent = prepare<{ ids: string }>()((db, p) =>
  db
    .selectFrom('store_outbox')
    .select('id')
    .where('done_at', 'is', null)
    .where('message_id', 'in', listed(p.ids)),
)

const hiddenRows = prepare<{ ids: string; sessionId: string }>()((db, p) =>
  db
    .selectFrom('store_hidden_messages')
    .select(messageColumns)
    .where('session_id', '=', p.sessionId)
    .where('id', 'in', listed(p.ids)),
)

const copyBack = prepare<{ ids: string }>()((db, p) =>
  db
    .insertInto('messages')
    .columns(messageColumns)
    .expression((eb) =>
      eb
        .selectFrom('store_hidden_messages')
        .select(messageColumns)
        .where('id', 'in', listed(p.ids)),
    ),
)

const forget = prepare<{ ids: string }>()((db, p) =>
  db.deleteFrom('store_hidden_messages').where('id', 'in', listed(p.ids)),
)

const bySession = prepare<{ sessionId: string }>()((db, p) =>
  db
    .selectFrom('store_hidden_messages')
    .select(['reason', 'hidden_at', ...messageColumns])
    .where('session_id', '=', p.sessionId)
    .orderBy('id'),
)

function listed(ids: string) {
  return sql<number>`(select value from json_each(${ids}))`
}

import { createHash } from 'node:crypto'

import type { Kysely, Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { removeMessages } from '../repositories/message-removal.ts'
import {
  encodeMessage,
  messageColumns,
  toMessage as toStoredMessage,
  type EncodedMessage,
  type MessageRow,
} from '../repositories/message-row.ts'
import { addToCounters, insertMessages } from '../repositories/message-writes.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { decodeItem, encodeItem, type AgentItem } from './agent-item-codec.ts'
import { groupItems, toItems, toMessage } from './agent-items.ts'

/** A message with the items it stands for; no items when it is none of the conversation. */
interface Entry {
  readonly row: MessageRow
  readonly items: readonly AgentItem[]
}

const PAGE = 100

/** The newest items, oldest first; all of them when there are fewer. */
export async function newestItems(
  db: Kysely<Database>,
  sessionId: string,
  count: number,
): Promise<AgentItem[]> {
  if (!(count > 0)) return []
  const entries = await newestEntries(db, sessionId, count)
  const items = entries.toReversed().flatMap((entry) => entry.items)
  return items.slice(Math.max(0, items.length - count))
}

/** Adds the items and the messages that Hermes sees for them. */
export async function appendItems(
  trx: Transaction<Database>,
  sessionId: string,
  items: readonly AgentItem[],
  at = nowSeconds(),
): Promise<void> {
  const groups = groupItems(items)
  const messages = groups.map((group) => encodeMessage(toMessage(group)))
  const ids = await insertMessages(trx, sessionId, messages, at)
  await addToCounters(trx, sessionId, messages)
  for (const [index, group] of groups.entries()) {
    const messageDigest = digestOfRow(messages[index]!)
    for (const [position, item] of group.entries()) {
      const text = encodeItem(item, 'item')
      await insertItem.run(trx, { messageId: ids[index]!, position, item: text, messageDigest })
    }
  }
}

/** Takes the newest items out, and their messages; one that loses only some of them is written anew. */
export async function dropItems(
  trx: Transaction<Database>,
  sessionId: string,
  count: number,
): Promise<void> {
  const dropped: MessageRow[] = []
  let left = count
  let kept: { items: readonly AgentItem[]; at: number } | undefined
  for (const { row, items } of await newestEntries(trx, sessionId, count)) {
    if (left === 0) break
    if (items.length === 0) continue
    dropped.push(row)
    if (items.length > left) kept = { items: items.slice(0, -left), at: row.timestamp }
    left -= Math.min(left, items.length)
  }
  await removeMessages(trx, dropped)
  if (kept) await appendItems(trx, sessionId, kept.items, kept.at)
}

/** As many as hold that many items, or all; newest first. */
async function newestEntries(
  db: Kysely<Database>,
  sessionId: string,
  itemCount: number,
): Promise<Entry[]> {
  const newestFirst: Entry[] = []
  let found = 0
  let beforeId = Number.MAX_SAFE_INTEGER
  while (found < itemCount) {
    const rows = await entryPage.all(db, { sessionId, beforeId, limit: PAGE })
    if (rows.length === 0) break
    for (const entry of toEntries(rows)) {
      newestFirst.push(entry)
      found += entry.items.length
      beforeId = entry.row.id
    }
  }
  return newestFirst
}

type EntryRow = MessageRow & { item: string | null; message_digest: string | null }

function toEntries(rows: readonly EntryRow[]): Entry[] {
  const byMessage = new Map<number, EntryRow[]>()
  for (const row of rows) {
    const sameMessage = byMessage.get(row.id)
    if (sameMessage) sameMessage.push(row)
    else byMessage.set(row.id, [row])
  }
  return [...byMessage.values()].map((group) => {
    const [row] = group as [EntryRow]
    return { row, items: itemsOf(row, group) }
  })
}

/** What was put in, unless the message says something else by now: then that counts. */
function itemsOf(row: EntryRow, group: readonly EntryRow[]): AgentItem[] {
  if (row.message_digest === null || row.message_digest !== digestOfRow(row)) {
    return toItems(toStoredMessage(row))
  }
  return group.flatMap(({ item }) => (item === null ? [] : [decodeItem(item)]))
}

/** Of what Hermes reads; a column that a later version adds does not count. */
function digestOfRow(row: MessageRow | EncodedMessage): string {
  const said = [
    row.role,
    row.content,
    row.tool_call_id,
    row.tool_calls,
    row.tool_name,
    row.reasoning,
  ]
  return createHash('sha256').update(JSON.stringify(said)).digest('hex')
}

const entryPage = prepare<{ sessionId: string; beforeId: number; limit: number }>()((db, p) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('messages')
        .select(messageColumns)
        .where('session_id', '=', p.sessionId)
        .where('id', '<', p.beforeId)
        .orderBy('id', 'desc')
        .limit(p.limit)
        .as('message'),
    )
    .leftJoin('store_agent_items', 'store_agent_items.message_id', 'message.id')
    .select(messageColumns)
    .select(['item', 'message_digest'])
    .orderBy('message.id', 'desc')
    .orderBy('store_agent_items.position'),
)

const insertItem = prepare<{
  messageId: number
  position: number
  item: string
  messageDigest: string
}>()((db, p) =>
  db.insertInto('store_agent_items').values({
    message_id: p.messageId,
    position: p.position,
    item: p.item,
    message_digest: p.messageDigest,
  }),
)

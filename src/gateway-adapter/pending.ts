import { sql, type Kysely } from 'kysely'

import type { Database } from '../schema/database.ts'
import { chatOf, type ChatOptions } from './chat.ts'
import { newestChatId } from './chat-aliases.ts'
import { botOf, type OutboxOptions } from './outbox-rows.ts'
import { platformIdOf } from './claims.ts'
import { secondsOf } from './seconds-of.ts'
import { toLane, type Lane } from './lane.ts'

/** Which bot's messages, and from when on. */
export interface PendingOptions extends OutboxOptions {
  /** Seconds since the epoch; what was taken earlier is left alone. */
  readonly since: number | Date
}

/** A message that was stored and neither answered nor given up. */
export interface PendingTurn {
  readonly lane: Lane
  readonly messageId: number
  readonly platformMessageId: string
}

/** Oldest first. A message that Hermes has deleted waits for nothing. */
export async function listPending(
  db: Kysely<Database>,
  pending: PendingOptions,
  options: ChatOptions,
): Promise<PendingTurn[]> {
  const { platform, account } = botOf(pending)
  const since = secondsOf('since', pending.since)
  const rows = await db
    .selectFrom('store_inbound as claim')
    .innerJoin('store_chat_routes as route', 'route.id', 'claim.route_id')
    .innerJoin('messages', 'messages.id', 'claim.message_id')
    .select([
      'claim.route_id',
      'claim.message_id',
      'claim.platform_message_id',
      'claim.sender_id',
      'claim.sender_name',
      'claim.chat_id as claimed_in',
      'route.chat_type',
      'route.chat_id',
      'route.thread_id',
      'route.user_id',
      'messages.session_id',
    ])
    .select(newestChatId(platform, account, sql.ref('route.chat_id')).as('moved_to'))
    .where('claim.settled_at', 'is', null)
    .where('claim.platform', '=', platform)
    .where('claim.account', '=', account)
    .where('claim.received_at', '>=', since)
    .orderBy('claim.message_id')
    .execute()
  return rows.map((row) => {
    const chatId = row.moved_to ?? row.chat_id
    const platformMessageId = platformIdOf({
      chatId: row.claimed_in,
      platformMessageId: row.platform_message_id,
    })
    const chat = chatOf(
      {
        platform,
        account,
        chatType: row.chat_type,
        chatId,
        threadId: row.thread_id,
        userId: row.user_id === '' ? row.sender_id : row.user_id,
        userName: row.sender_name,
        // In the chat it moved to that id is another message's.
        messageId: chatId === row.claimed_in ? platformMessageId : undefined,
      },
      options,
    )
    return {
      lane: toLane(chat, row.route_id, row.session_id),
      messageId: row.message_id,
      platformMessageId,
    }
  })
}

import { sql, type Kysely, type Transaction } from 'kysely'

import { InvalidInputError } from '../errors.ts'
import { requireObject, requireText } from '../repositories/input.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { idText, type ChatId } from './chat-source.ts'

/** A chat as the platforms name it in news about messages: not who wrote them, perhaps not to which bot. */
export interface PlatformChat {
  readonly platform: string
  /** Absent: every bot's. */
  readonly account?: ChatId
  readonly chatId?: ChatId
}

interface Lookup {
  readonly platform: string
  readonly accounts: string
  readonly chatId: string
  readonly ids: string
}

/**
 * The messages that are gone with those: what somebody wrote, and what we sent, once all its parts are
 * deleted. Ids that nobody knows are passed over.
 */
export async function takeDeleted(
  trx: Transaction<Database>,
  chat: PlatformChat,
  platformMessageIds: readonly string[],
): Promise<number[]> {
  const lookup = await lookupOf(trx, chat, platformMessageIds)
  const inbound = await trx
    .selectFrom('store_inbound')
    .select('message_id')
    .where(isOneOf(lookup))
    .execute()
  const parts = await trx
    .updateTable('store_outbound')
    .set({ deleted_at: nowSeconds() })
    .where(isOneOf(lookup))
    .returning('message_id')
    .execute()
  const sent = await trx
    .selectFrom('store_outbound')
    .select('message_id')
    .where('message_id', 'in', listed(parts.map((part) => part.message_id)))
    .groupBy('message_id')
    .having(sql<boolean>`count(*) = count(deleted_at)`)
    .execute()
  return [...inbound, ...sent].map((row) => row.message_id)
}

/** The results of the tools that these messages called: without the calls no model takes them. */
export async function toolResultsOf(
  trx: Transaction<Database>,
  messageIds: readonly number[],
): Promise<number[]> {
  const rows = await trx
    .selectFrom('messages as result')
    .innerJoin('messages as call', 'call.session_id', 'result.session_id')
    .select('result.id')
    .where('call.id', 'in', listed(messageIds))
    .where('call.tool_calls', 'is not', null)
    .where('result.role', '=', 'tool')
    .whereRef('result.id', '>', 'call.id')
    .where(
      sql<boolean>`json_valid(call.tool_calls) and exists (
        select 1 from json_each(call.tool_calls) as each
        where each.type = 'object' and each.value ->> 'id' = result.tool_call_id)`,
    )
    .execute()
  return rows.map(({ id }) => id)
}

async function lookupOf(
  db: Kysely<Database>,
  platformChat: PlatformChat,
  platformMessageIds: readonly string[],
): Promise<Lookup> {
  requireObject('chat', platformChat)
  const { platform, account, chatId } = platformChat
  const chat = idText('chatId', chatId)
  if (chat === undefined) throw new InvalidInputError('chatId', 'must not be empty')
  const text = requireText('platform', platform)
  const only = idText('account', account)
  return {
    platform: text,
    accounts: JSON.stringify(only === undefined ? await accountsOf(db, text) : [only]),
    chatId: chat,
    ids: JSON.stringify(platformMessageIds),
  }
}

/** A handful of bots among any number of messages: one step in the index for each of them. */
async function accountsOf(db: Kysely<Database>, platform: string): Promise<string[]> {
  const { rows } = await sql<{ account: string }>`
    with recursive bot(account) as (
      select min(account) from store_chat_routes where platform = ${platform}
      union all
      select (select min(account) from store_chat_routes
        where platform = ${platform} and account > bot.account)
      from bot where bot.account is not null
    )
    select account from bot where account is not null
  `.execute(db)
  return rows.map(({ account }) => account)
}

function isOneOf({ platform, accounts, chatId, ids }: Lookup) {
  return sql<boolean>`platform = ${platform}
    and account in (select value from json_each(${accounts}))
    and chat_id = ${chatId}
    and platform_message_id in (select value from json_each(${ids}))`
}

function listed(ids: readonly number[]) {
  return sql<number>`(select value from json_each(${JSON.stringify(ids)}))`
}

import { sql, type Transaction } from 'kysely'

import { InvalidInputError } from '../errors.ts'
import { requireObject, requireText } from '../repositories/input.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { findHome, type ChatAddress } from './chat-aliases.ts'
import { idText, type ChatId } from './chat-source.ts'
import { isRoutedElsewhere, linkSessions } from './routes.ts'

/** A chat that goes on under another id, as an `InboundMigration` tells. */
export interface ChatMigration {
  readonly platform: string
  /** The bot's own id, as in the sources of its messages. */
  readonly account?: ChatId
  readonly fromChatId: ChatId
  readonly toChatId: ChatId
}

/**
 * From now on both ids lead to the same conversations. Those of the old chat go on; one that had begun
 * under the new id before this was known is ended where the old chat has its like, and can be resumed.
 * @throws {InvalidInputError} when an id is missing or has lost digits.
 */
export async function migrateChat(store: Store, migration: ChatMigration): Promise<void> {
  requireObject('migration', migration)
  const from = addressOf(migration, 'fromChatId')
  const to = addressOf(migration, 'toChatId')
  await store.transaction(async (tx) => {
    const home = await findHome(tx.db, from)
    const other = { ...to, chatId: await findHome(tx.db, to) }
    // The platform tells it in both chats, and may tell it again.
    if (home === other.chatId) return
    await addAlias(tx.db, other, home)
    await bringHome(tx, other, home)
    await readdress(tx.db, from, to.chatId)
  })
}

function addressOf(migration: ChatMigration, field: 'fromChatId' | 'toChatId'): ChatAddress {
  const platform = requireText('platform', migration.platform)
  const account = idText('account', migration.account) ?? ''
  const chatId = idText(field, migration[field])
  if (chatId === undefined) throw new InvalidInputError(field, 'must not be empty')
  return { platform, account, chatId }
}

async function addAlias(
  trx: Transaction<Database>,
  { platform, account, chatId }: ChatAddress,
  homeId: string,
): Promise<void> {
  await trx
    .updateTable('store_chat_aliases')
    .set({ home_id: homeId })
    .where('platform', '=', platform)
    .where('account', '=', account)
    .where('home_id', '=', chatId)
    .execute()
  await trx
    .insertInto('store_chat_aliases')
    .values({ platform, account, chat_id: chatId, home_id: homeId, migrated_at: nowSeconds() })
    .execute()
}

/** Files what began under the new id under the first one. */
async function bringHome(
  tx: StoreTransaction,
  { platform, account, chatId }: ChatAddress,
  homeId: string,
): Promise<void> {
  const strays = await tx.db
    .selectFrom('store_chat_routes as stray')
    .leftJoin('store_chat_routes as route', (join) =>
      join
        .onRef('route.platform', '=', 'stray.platform')
        .onRef('route.account', '=', 'stray.account')
        .onRef('route.chat_type', '=', 'stray.chat_type')
        .onRef('route.thread_id', '=', 'stray.thread_id')
        .onRef('route.user_id', '=', 'stray.user_id')
        .on('route.chat_id', '=', homeId),
    )
    .select(['stray.id', 'stray.session_id', 'route.id as route_id'])
    .where('stray.platform', '=', platform)
    .where('stray.account', '=', account)
    .where('stray.chat_id', '=', chatId)
    .execute()
  for (const { id, session_id: sessionId, route_id: routeId } of strays) {
    if (routeId === null) await rehome(tx.db, id, homeId)
    else await giveUpRoute(tx, id, sessionId, routeId)
  }
}

async function rehome(trx: Transaction<Database>, id: number, homeId: string): Promise<void> {
  await trx.updateTable('store_chat_routes').set({ chat_id: homeId }).where('id', '=', id).execute()
}

/** The row stays for what refers to it; nothing leads to it any more. */
async function giveUpRoute(
  tx: StoreTransaction,
  id: number,
  sessionId: string | null,
  routeId: number,
): Promise<void> {
  const links = await tx.db
    .selectFrom('store_route_sessions')
    .select('session_id')
    .where('route_id', '=', id)
    .execute()
  const sessionIds = links.map((link) => link.session_id)
  await linkSessions(tx.db, routeId, sessionIds)
  await tx.db
    .updateTable('store_chat_routes')
    .set({ session_id: null })
    .where('id', '=', id)
    .execute()
  if (sessionId === null || (await isRoutedElsewhere(tx.db, sessionId, id))) return
  await tx.sessions.end(sessionId, 'session_switch')
}

/** Replies that wait to be sent go where the chat is now; what they answered is not there. */
async function readdress(
  trx: Transaction<Database>,
  { platform, account, chatId }: ChatAddress,
  toChatId: string,
): Promise<void> {
  await trx
    .updateTable('store_outbox')
    .set({
      source: sql<string>`json_remove(json_set(source, '$.chatId', ${toChatId}), '$.messageId')`,
    })
    .where('done_at', 'is', null)
    .where(sql<string>`source ->> '$.platform'`, '=', platform)
    .where(sql<string>`coalesce(source ->> '$.account', '')`, '=', account)
    .where(sql<string>`source ->> '$.chatId'`, '=', chatId)
    .execute()
}

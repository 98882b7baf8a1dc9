import { sql, type Kysely, type RawBuilder } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { normalizeSource, type ChatSource } from './chat-source.ts'

/** A chat of a platform, as one bot sees it. */
export interface ChatAddress {
  readonly platform: string
  readonly account: string
  readonly chatId: string
}

/** The id under which the routes of a chat are kept: the first it had (`migrateChat`). */
export function homeChatId({ platform, account, chatId }: ChatAddress): RawBuilder<string> {
  return sql<string>`coalesce(
    (select alias.home_id from store_chat_aliases as alias
      where alias.platform = ${platform} and alias.account = ${account}
        and alias.chat_id = ${chatId}),
    ${chatId})`
}

export async function findHome(db: Kysely<Database>, chat: ChatAddress): Promise<string> {
  const alias = await db
    .selectFrom('store_chat_aliases')
    .select('home_id')
    .where('platform', '=', chat.platform)
    .where('account', '=', chat.account)
    .where('chat_id', '=', chat.chatId)
    .executeTakeFirst()
  return alias?.home_id ?? chat.chatId
}

const newestId = prepare<ChatAddress>()((db, p) =>
  db
    .selectFrom('store_chat_aliases as known')
    .select(newestChatId(p.platform, p.account, sql.ref('known.home_id')).as('chat_id'))
    .where('known.platform', '=', p.platform)
    .where('known.account', '=', p.account)
    // The first id of a chat is the home of others, and has no row of its own.
    .where((eb) => eb.or([eb('known.chat_id', '=', p.chatId), eb('known.home_id', '=', p.chatId)]))
    .limit(1),
)

/** The chat under the id it has now. What was written under another id is not there. */
export async function presentSource(db: Kysely<Database>, source: ChatSource): Promise<ChatSource> {
  const { platform, account = '', chatId = '' } = source
  const newest = (await newestId.first(db, { platform, account, chatId }))?.chat_id ?? chatId
  if (newest === chatId) return source
  return normalizeSource({ ...source, chatId: newest, messageId: undefined })
}

/** Where a chat is reached now, by the id its routes are kept under: the last it got; null when it never moved. */
export function newestChatId(
  platform: string,
  account: string,
  homeId: RawBuilder<string>,
): RawBuilder<string | null> {
  return sql<string | null>`(
    select newest.chat_id from store_chat_aliases as newest
    where newest.platform = ${platform} and newest.account = ${account}
      and newest.home_id = ${homeId}
    order by newest.migrated_at desc limit 1)`
}

import { sql, type Kysely, type RawBuilder } from 'kysely'

import type { Database } from '../schema/database.ts'

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

/** Where the chat can be reached now: the last id it got. */
export async function findCurrentChatId(db: Kysely<Database>, chat: ChatAddress): Promise<string> {
  const home = await findHome(db, chat)
  const newest = await db
    .selectFrom('store_chat_aliases')
    .select('chat_id')
    .where('platform', '=', chat.platform)
    .where('account', '=', chat.account)
    .where('home_id', '=', home)
    .orderBy('migrated_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest?.chat_id ?? home
}

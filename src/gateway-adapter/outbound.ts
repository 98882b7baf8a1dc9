import type { Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { listOf } from './arguments.ts'
import { idText, type ChatId } from './chat-source.ts'
import type { ClaimKey } from './claims.ts'

export type OutboundChat = Omit<ClaimKey, 'platformMessageId'>

const add = prepare<ClaimKey & { messageId: number; now: number }>()((db, p) =>
  db
    .insertInto('store_outbound')
    .values({
      platform: p.platform,
      account: p.account,
      chat_id: p.chatId,
      platform_message_id: p.platformMessageId,
      message_id: p.messageId,
      sent_at: p.now,
      deleted_at: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
)

/** Keeps what the platform calls a message of ours, in however many parts it was sent. */
export async function addOutbound(
  trx: Transaction<Database>,
  chat: OutboundChat,
  messageId: number,
  platformMessageIds: readonly string[],
): Promise<void> {
  const now = nowSeconds()
  for (const platformMessageId of platformMessageIds) {
    await add.run(trx, { ...chat, platformMessageId, messageId, now })
  }
}

/** @throws {InvalidInputError} when one of them is no id. */
export function idTexts(field: string, ids: readonly ChatId[]): string[] {
  return listOf(field, ids).flatMap((id, index) => idText(`${field}[${index}]`, id) ?? [])
}

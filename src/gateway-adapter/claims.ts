import type { Kysely, Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import type { Chat } from './chat.ts'
import { idText, type ChatId } from './chat-source.ts'

/**
 * What makes a message of a platform one and the same, by whatever route it comes; Telegram counts ids per
 * chat only.
 */
export interface ClaimKey {
  readonly platform: string
  readonly account: string
  readonly chatId: string
  readonly platformMessageId: string
}

/** A message that was taken before. */
export interface Claim {
  readonly messageId: number
  /** Undefined when Hermes deleted or rewrote the message. */
  readonly sessionId: string | undefined
  readonly settled: boolean
}

export interface NewClaim {
  readonly routeId: number
  readonly messageId: number
  readonly senderId: string | null
  readonly senderName: string | null
  readonly replyTo: string | null
  readonly sentAt: number | null
}

export function claimKey({ parts, personId }: Chat, id: string): ClaimKey {
  const { platform, account, chatType, chatId, threadId } = parts
  if (chatId !== '') return { platform, account, chatId, platformMessageId: id }
  // No chat to count in: an id is somebody's, in a thread. A list, so that no two can look the same.
  const platformMessageId = JSON.stringify([chatType, threadId, personId, id])
  return { platform, account, chatId, platformMessageId }
}

/** The id as the platform gave it. */
export function platformIdOf({
  chatId,
  platformMessageId,
}: Omit<ClaimKey, 'platform' | 'account'>): string {
  if (chatId !== '') return platformMessageId
  const parts = JSON.parse(platformMessageId) as string[]
  return parts.at(-1) ?? ''
}

/** @throws {InvalidInputError} naming the field when the id is none. */
export function messageKey(chat: Chat, field: string, id: ChatId): ClaimKey {
  const text = idText(field, id)
  if (text === undefined) throw new InvalidInputError(field, 'must not be empty')
  return claimKey(chat, text)
}

const byKey = prepare<ClaimKey>()((db, p) =>
  db
    .selectFrom('store_inbound')
    .leftJoin('messages', 'messages.id', 'store_inbound.message_id')
    .select(['message_id', 'session_id', 'settled_at'])
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where('chat_id', '=', p.chatId)
    .where('platform_message_id', '=', p.platformMessageId),
)

const add = prepare<ClaimKey & NewClaim & { receivedAt: number }>()((db, p) =>
  db.insertInto('store_inbound').values({
    platform: p.platform,
    account: p.account,
    chat_id: p.chatId,
    platform_message_id: p.platformMessageId,
    route_id: p.routeId,
    message_id: p.messageId,
    sender_id: p.senderId,
    sender_name: p.senderName,
    reply_to: p.replyTo,
    sent_at: p.sentAt,
    received_at: p.receivedAt,
    settled_at: null,
    answer_id: null,
  }),
)

const byMessage = prepare<{ messageId: number }>()((db, p) =>
  db
    .selectFrom('store_inbound')
    .select(['settled_at', 'sender_id'])
    .where('message_id', '=', p.messageId),
)

const settle = prepare<{ messageId: number; answerId: number | null; now: number }>()((db, p) =>
  db
    .updateTable('store_inbound')
    .set({ settled_at: p.now, answer_id: p.answerId })
    .where('message_id', '=', p.messageId)
    .where('settled_at', 'is', null),
)

export async function findClaim(db: Kysely<Database>, key: ClaimKey): Promise<Claim | undefined> {
  const row = await byKey.first(db, key)
  return (
    row && {
      messageId: row.message_id,
      sessionId: row.session_id ?? undefined,
      settled: row.settled_at !== null,
    }
  )
}

export async function addClaim(
  trx: Transaction<Database>,
  key: ClaimKey,
  claim: NewClaim,
): Promise<void> {
  await add.run(trx, { ...key, ...claim, receivedAt: nowSeconds() })
}

/** The claim of a stored message; undefined when it did not come through `inbound`. */
export async function findSettlement(
  db: Kysely<Database>,
  messageId: number,
): Promise<{ settled: boolean; senderId: string | null } | undefined> {
  const row = await byMessage.first(db, { messageId })
  return row && { settled: row.settled_at !== null, senderId: row.sender_id }
}

/** The message waits for no answer any more. */
export async function settleClaim(
  trx: Transaction<Database>,
  messageId: number,
  answerId: number | null,
): Promise<void> {
  await settle.run(trx, { messageId, answerId, now: nowSeconds() })
}

export type Verb = 'reset' | 'resume' | 'title' | 'branch' | 'undo'

/** False when this command message was carried out before. */
export async function takeCommand(
  trx: Transaction<Database>,
  key: ClaimKey,
  verb: Verb,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('store_commands')
    .values({
      platform: key.platform,
      account: key.account,
      chat_id: key.chatId,
      platform_message_id: key.platformMessageId,
      verb,
      taken_at: nowSeconds(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

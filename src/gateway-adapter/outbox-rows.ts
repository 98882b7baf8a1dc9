import { randomBytes } from 'node:crypto'

import { sql, type Kysely, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { requireText } from '../repositories/input.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { optionsOf } from './arguments.ts'
import {
  idText,
  normalizeSource,
  type ChatId,
  type ChatSource,
  type ChatSourceInput,
} from './chat-source.ts'
import { isAlive } from './leases.ts'

/** Something to be said in a chat, stored before it is sent. */
export interface Reply {
  readonly id: number
  readonly turnId: number
  /** Where to say it; `messageId` is the message it answers. */
  readonly source: ChatSource
  readonly text: string
  /** The same at every attempt, 25 characters at most: Discord refuses a second message with it. */
  readonly nonce: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** How often sending it was begun before. */
  readonly attempts: number
  /** Such an attempt ended nobody knows how: it may be in the chat already. */
  readonly maybeSent: boolean
  readonly lastError: string | null
}

export interface OutboxOf {
  readonly turnId: number
  readonly sessionId: string
  readonly messageId: number
  readonly source: ChatSource
}

const insert = prepare<Omit<OutboxOf, 'source'> & Texts & { now: number; attempts: number }>()(
  (db, p) =>
    db.insertInto('store_outbox').values({
      turn_id: p.turnId,
      session_id: p.sessionId,
      message_id: p.messageId,
      source: p.source,
      text: p.text,
      nonce: p.nonce,
      created_at: p.now,
      attempts: p.attempts,
      // The first is sent at once: from here on a crash leaves open whether it was.
      maybe_sent: p.attempts,
      last_error: null,
      done_at: null,
    }),
)

interface Texts {
  readonly source: string
  readonly text: string
  readonly nonce: string
}

/** The first counts as being sent from now on; each further one from when the one before is delivered. */
export async function addReplies(
  trx: Transaction<Database>,
  of: OutboxOf,
  texts: readonly string[],
): Promise<Reply[]> {
  const replies: Reply[] = []
  const createdAt = nowSeconds()
  for (const [index, text] of texts.entries()) {
    const nonce = randomBytes(9).toString('base64url')
    const attempts = index === 0 ? 1 : 0
    const source = JSON.stringify(of.source)
    const { insertId } = await insert.run(trx, {
      ...of,
      source,
      text,
      nonce,
      attempts,
      now: createdAt,
    })
    replies.push({
      id: Number(insertId),
      turnId: of.turnId,
      source: of.source,
      text,
      nonce,
      createdAt,
      attempts: 0,
      maybeSent: false,
      lastError: null,
    })
  }
  return replies
}

/** A bot, as in the sources of its messages. */
export interface OutboxOptions {
  readonly platform: string
  /** The bot's own id, as in the sources of its messages. */
  readonly account?: ChatId
}

/** @throws {InvalidInputError} when no platform is named. */
export function botOf(options: OutboxOptions): { platform: string; account: string } {
  const { platform, account } = optionsOf('options', options)
  return {
    platform: requireText('platform', platform),
    account: idText('account', account) ?? '',
  }
}

/** Oldest first: what was neither delivered nor abandoned, and nobody is sending at the moment. */
export async function listUndelivered(
  db: Kysely<Database>,
  options: OutboxOptions,
): Promise<Reply[]> {
  const { platform, account } = botOf(options)
  const rows = await db
    .selectFrom('store_outbox')
    .innerJoin('store_turns', 'store_turns.id', 'store_outbox.turn_id')
    .innerJoin('store_chat_routes', 'store_chat_routes.id', 'store_turns.route_id')
    .select([
      'store_outbox.id',
      'turn_id',
      'source',
      'text',
      'nonce',
      'store_outbox.created_at',
      'attempts',
      'maybe_sent',
      'last_error',
    ])
    .where('done_at', 'is', null)
    .where('platform', '=', platform)
    .where('account', '=', account)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('store_leases')
            .select('name')
            .where('name', '=', sql<string>`'turn:' || turn_id`)
            .where(isAlive(nowSeconds())),
        ),
      ),
    )
    .orderBy('store_outbox.id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    turnId: row.turn_id,
    source: toSource(row.source),
    text: row.text,
    nonce: row.nonce,
    createdAt: row.created_at,
    attempts: row.attempts,
    maybeSent: row.maybe_sent > 0,
    lastError: row.last_error,
  }))
}

/** What is known of a reply that is not done. */
export const openReply = prepare<{ id: number }>()((db, p) =>
  db
    .selectFrom('store_outbox')
    .select(['turn_id', 'message_id', 'source'])
    .where('id', '=', p.id)
    .where('done_at', 'is', null),
)

export function toSource(json: string): ChatSource {
  return normalizeSource(JSON.parse(json) as ChatSourceInput)
}

/** The text is in the session: it need not be kept twice. */
export const finish = prepare<{ id: number; now: number }>()((db, p) =>
  db
    .updateTable('store_outbox')
    .set({ done_at: p.now, text: '', source: '{}', maybe_sent: 0 })
    .where('id', '=', p.id)
    .where('done_at', 'is', null),
)

/** The next part of the same answer, which is sent from now on. */
export const nextPart = prepare<{ turnId: number }>()((db, p) =>
  db
    .selectFrom('store_outbox')
    .select('id')
    .where('turn_id', '=', p.turnId)
    .where('done_at', 'is', null)
    .orderBy('id')
    .limit(1),
)

export const beginAttempt = prepare<{ id: number }>()((db, p) =>
  db
    .updateTable('store_outbox')
    .set((eb) => ({ attempts: eb('attempts', '+', 1), maybe_sent: eb('maybe_sent', '+', 1) }))
    .where('id', '=', p.id)
    .where('done_at', 'is', null),
)

/** `refused` is 1 when the attempt certainly sent nothing; an earlier one may have all the same. */
export const noteFailure = prepare<{ id: number; error: string; refused: number }>()((db, p) =>
  db
    .updateTable('store_outbox')
    .set((eb) => ({ last_error: p.error, maybe_sent: eb('maybe_sent', '-', p.refused) }))
    .where('id', '=', p.id)
    .where('done_at', 'is', null),
)

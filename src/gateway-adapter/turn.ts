import { InvalidInputError } from '../errors.ts'
import { optionalText, requireObject, requireText } from '../repositories/input.ts'
import { encodeMessage, type NewMessage } from '../repositories/message-row.ts'
import { addToCounters, areLong, insertMessages } from '../repositories/message-writes.ts'
import { addUsage, toUsageRow, type Usage } from '../repositories/session-usage.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { listOf, rowIdOf } from './arguments.ts'
import type { Chat } from './chat.ts'
import { presentSource } from './chat-aliases.ts'
import type { ChatId } from './chat-source.ts'
import { findSettlement, settleClaim } from './claims.ts'
import type { Lane } from './lane.ts'
import { releaseLease, replyLease, takeLease, turnLease } from './leases.ts'
import { addOutbound, idTexts } from './outbound.ts'
import { addReplies, type Reply } from './outbox-rows.ts'
import { touchRoute } from './routes.ts'
import { addTurnRecord, findAnswer, findOperation } from './turn-records.ts'
import { addTurnUsage } from './turn-usage.ts'
import type { Waiting } from './waiting.ts'

/** A message to store with a turn. */
export interface TurnMessage extends NewMessage {
  /** What the platform calls it, when it was sent before it is stored. */
  platformMessageIds?: readonly ChatId[]
}

/** An answer, with what led to it and what it cost. */
export interface Turn {
  /** The assistant's and the tools' messages, in order; the last is the answer. */
  readonly messages: readonly TurnMessage[]
  /** What the model reported. `apiCallCount` is 1 unless it is given. */
  readonly usage?: Usage | undefined
  readonly model?: string | null | undefined
  /** The `messageId` of the message that is answered. Each is answered once. */
  readonly answers?: number | undefined
  /** Of the conversation: the same turn recorded again is known by it, where nothing is answered, too. */
  readonly operationId?: string | undefined
  /** What is to be said in the chat now, each text one message of the platform, in order. */
  readonly replies?: readonly string[] | undefined
}

/** What recording a turn came to. */
export interface RecordedTurn {
  readonly messageIds: readonly number[]
  /** It had been recorded before, or the message answered or given up: nothing was stored now. */
  readonly duplicate: boolean
  /** To be sent by the caller, through `outbox.send`; none when it is a duplicate. */
  readonly replies: readonly Reply[]
}

/** Who records it: the one whose leases end or begin with it. */
export interface Recorder {
  readonly gatewayId: string
  readonly leaseSeconds: number
  readonly waiting: Waiting
}

/** @throws {SessionNotFoundError} when Hermes deleted the session meanwhile. */
export async function recordTurn(
  store: Store,
  lane: Lane,
  chat: Chat,
  turn: Turn,
  recorder: Recorder,
): Promise<RecordedTurn> {
  requireObject('turn', turn)
  const messages = listOf('messages', turn.messages)
  const answers = turn.answers === undefined ? null : rowIdOf('answers', turn.answers)
  if (turn.usage !== undefined) requireObject('usage', turn.usage)
  if (turn.model !== undefined) optionalText('model', turn.model)
  const operationId = optionalId(turn.operationId)
  const texts = replyTexts(turn)
  const encoded = messages.map((message, index) => {
    requireObject(`messages[${index}]`, message)
    return encodeMessage(message, `messages[${index}].`)
  })
  const platformIds = messages.map(({ platformMessageIds = [] }, index) =>
    idTexts(`messages[${index}].platformMessageIds`, platformMessageIds),
  )

  const recorded = await store.transaction<RecordedTurn>(
    async (tx) => {
      const earlier = await findEarlier(tx, lane, operationId, answers)
      if (earlier) return { messageIds: earlier, duplicate: true, replies: [] }
      // Hermes may have compressed the session while the model was thinking.
      const sessionId = await tx.lineage.tip(lane.sessionId)
      const messageIds = await insertMessages(tx.db, sessionId, encoded, nowSeconds())
      await addToCounters(tx.db, sessionId, encoded)
      for (const [index, ids] of platformIds.entries()) {
        await addOutbound(tx.db, chat.parts, messageIds[index]!, ids)
      }
      await countUsage(tx, sessionId, lane, chat, turn)
      const { routeId } = lane
      const record = { routeId, sessionId, operationId, answers, messageIds }
      const turnId = await addTurnRecord(tx.db, record)
      await touchRoute(tx.db, routeId)
      if (answers !== null) {
        await settleClaim(tx.db, answers, messageIds.at(-1) ?? null)
        await releaseLease(tx.db, turnLease(recorder.gatewayId, lane.sessionId, answers))
      }
      if (texts.length === 0) return { messageIds, duplicate: false, replies: [] }
      await takeLease(tx.db, replyLease(recorder.gatewayId, turnId), recorder.leaseSeconds)
      const source = await presentSource(tx.db, lane.source)
      const of = { turnId, sessionId, messageId: messageIds.at(-1)!, source }
      return { messageIds, duplicate: false, replies: await addReplies(tx.db, of, texts) }
    },
    { long: areLong(encoded) },
  )
  if (answers !== null) recorder.waiting.end(answers)
  recorder.waiting.free(lane.sessionId)
  return recorded
}

/** The messages of the same turn, when it was recorded before; none when the message was given up. */
async function findEarlier(
  { db }: StoreTransaction,
  { routeId }: Lane,
  operationId: string | null,
  answers: number | null,
): Promise<number[] | undefined> {
  const same = operationId === null ? undefined : await findOperation(db, routeId, operationId)
  if (same || answers === null) return same
  const claim = await findSettlement(db, answers)
  return claim?.settled ? findAnswer(db, answers) : undefined
}

/** For the session, as Hermes counts, and for the person who asked. */
async function countUsage(
  tx: StoreTransaction,
  sessionId: string,
  { routeId }: Lane,
  chat: Chat,
  { usage, model, answers }: Turn,
): Promise<void> {
  const counted = { apiCallCount: usage || model ? 1 : 0, ...usage, ...(model && { model }) }
  if (usage || model) await addUsage(tx.db, toUsageRow(sessionId, counted))
  const claim = answers === undefined ? undefined : await findSettlement(tx.db, answers)
  const personId = claim ? (claim.senderId ?? '') : chat.personId
  await addTurnUsage(tx.db, { routeId, personId }, counted)
}

function replyTexts({ replies = [], messages }: Turn): string[] {
  if (listOf('replies', replies).length > 0 && messages.length === 0) {
    throw new InvalidInputError('replies', 'must belong to a message of the turn')
  }
  return replies.map((text, index) => requireText(`replies[${index}]`, text))
}

function optionalId(operationId: string | undefined): string | null {
  return operationId === undefined ? null : requireText('operationId', operationId)
}

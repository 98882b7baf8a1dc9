import { InvalidInputError } from '../errors.ts'
import { lookupText, optionalText, requireObject } from '../repositories/input.ts'
import { encodeMessage } from '../repositories/message-row.ts'
import { addToCounters, areLong, insertMessages } from '../repositories/message-writes.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { attributedText, type Chat } from './chat.ts'
import { idText, type ChatId, type ChatSourceInput } from './chat-source.ts'
import { addClaim, findClaim, messageKey, type Claim } from './claims.ts'
import { enterLane } from './enter-lane.ts'
import type { InboundMessage } from './inbound.ts'
import { settleLane, toLane, type Lane } from './lane.ts'
import { touchRoute } from './routes.ts'
import { takeLease, turnLease } from './leases.ts'
import { secondsOf } from './seconds-of.ts'
import { isOfLane } from './scope.ts'
import type { Recorder } from './turn.ts'

/** What somebody wrote, without where: that is the source. */
export interface InboundText {
  /** '' is stored as it is: a message may be only media. */
  readonly text: string
  /** The platform's id of the message, unique in its chat. */
  readonly id: ChatId
  /** When it was written: seconds since the epoch, or a date. */
  readonly at?: number | Date | undefined
  readonly replyTo?: ChatId
  /** The name to show in shared sessions; the source's `userName` by default. */
  readonly sender?: string | undefined
}

/** What became of a message that was delivered. */
export interface Inbound {
  /** The lane to go on with; the session may not be the one an earlier `resolve` gave. */
  readonly lane: Lane
  readonly messageId: number
  /** The same message was taken before and nothing was stored now. */
  readonly duplicate: boolean
  /** It was answered or given up, or another conversation has it. Any other duplicate waits for its answer. */
  readonly settled: boolean
  /**
   * A turn is under way in the session, here or in another process: `begin` says when it is this
   * message's turn. When neither this nor `settled` is true, the turn is the caller's from now on.
   */
  readonly queued: boolean
}

/** A translator's message says all by itself; a message of one's own comes beside its source or lane. */
export function inboundOf(
  at: Lane | ChatSourceInput | InboundMessage,
  message: InboundText | undefined,
): { source: ChatSourceInput; text: InboundText } {
  requireObject('source', at)
  const source = 'source' in at ? at.source : at
  if (message !== undefined || !('messageId' in at && 'kind' in at)) {
    requireObject('message', message)
    return { source, text: message }
  }
  if (at.kind !== 'message') throw new InvalidInputError('message.kind', "must be 'message'")
  const { text, messageId: id, at: sentAt, replyToMessageId: replyTo, senderName: sender } = at
  return { source, text: { text, id, at: sentAt, replyTo, sender } }
}

/** @throws {InvalidInputError} when the text is no text or the id is missing. */
export async function takeInbound(
  store: Store,
  chat: Chat,
  message: InboundText,
  recorder: Recorder,
): Promise<Inbound> {
  const text = lookupText('text', message.text)
  const key = messageKey(chat, 'id', message.id)
  const sender = optionalText('sender', message.sender) ?? chat.source.userName
  const content = attributedText(chat, text, sender)
  const encoded = [encodeMessage({ role: 'user', content })]
  const replyTo = idText('replyTo', message.replyTo) ?? null
  const sentAt = message.at === undefined ? null : secondsOf('at', message.at)

  const taken = await store.transaction(
    async (tx) => {
      const claim = await findClaim(tx.db, key)
      if (claim) return repeated(tx, chat, claim, recorder)
      const lane = await enterLane(tx, chat)
      await touchRoute(tx.db, lane.routeId)
      const [messageId = 0] = await insertMessages(tx.db, lane.sessionId, encoded, nowSeconds())
      await addToCounters(tx.db, lane.sessionId, encoded)
      await addClaim(tx.db, key, {
        routeId: lane.routeId,
        messageId,
        senderId: chat.personId === '' ? null : chat.personId,
        senderName: sender ?? null,
        replyTo,
        sentAt,
      })
      const queued = !(await begins(tx, lane, messageId, recorder))
      return { lane, messageId, duplicate: false, settled: false, queued }
    },
    { long: areLong(encoded) },
  )
  if (taken.queued) recorder.waiting.ask(taken.lane.sessionId, taken.messageId)
  return taken
}

/**
 * The lane of the session that holds the message, even if the chat has moved on since; but none that this
 * conversation was never in. There the message waits, if it does, for whom `pendingTurns` names.
 */
async function repeated(
  tx: StoreTransaction,
  chat: Chat,
  claim: Claim,
  recorder: Recorder,
): Promise<Inbound> {
  const { messageId, sessionId } = claim
  const current = await settleLane(tx, chat)
  const isOwn = sessionId !== undefined && (await isOfLane(tx.db, chat, sessionId))
  if (!isOwn) return { lane: current, messageId, duplicate: true, settled: true, queued: false }
  const lane = toLane(chat, current.routeId, sessionId)
  const { settled } = claim
  const queued = !settled && !(await begins(tx, lane, messageId, recorder))
  return { lane, messageId, duplicate: true, settled, queued }
}

async function begins(
  tx: StoreTransaction,
  { sessionId }: Lane,
  messageId: number,
  { gatewayId, leaseSeconds, waiting }: Recorder,
): Promise<boolean> {
  if (waiting.isBehind(sessionId, messageId)) return false
  return takeLease(tx.db, turnLease(gatewayId, sessionId, messageId), leaseSeconds)
}

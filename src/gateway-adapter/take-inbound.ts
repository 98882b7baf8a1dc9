import { InvalidInputError } from '../errors.ts'
import { optionalText } from '../repositories/input.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { attributedText, type Chat } from './chat.ts'
import { idText, type ChatId } from './chat-source.ts'
import { addClaim, claimKey, findClaim, type Claim } from './claims.ts'
import { settleLane, toLane, type Lane } from './lane.ts'

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

export interface Inbound {
  /** The lane to go on with; the session may not be the one an earlier `resolve` gave. */
  readonly lane: Lane
  readonly messageId: number
  /** The same message was taken before and nothing was stored now. */
  readonly duplicate: boolean
  /** It was answered, or given up. A duplicate without an answer waits for one. */
  readonly settled: boolean
}

/** @throws {InvalidInputError} when the text is no text or the id is missing. */
export async function takeInbound(
  store: Store,
  chat: Chat,
  message: InboundText,
): Promise<Inbound> {
  const { text } = message
  if (typeof text !== 'string') throw new InvalidInputError('text', 'must be a string')
  const id = idText('id', message.id)
  if (id === undefined) throw new InvalidInputError('id', 'must not be empty')
  const sender = optionalText('sender', message.sender) ?? chat.source.userName
  const content = attributedText(chat, text, sender)
  const replyTo = idText('replyTo', message.replyTo) ?? null
  const sentAt = secondsOf(message.at)
  const key = claimKey(chat.parts, id)

  return store.transaction(async (tx) => {
    const claim = await findClaim(tx.db, key)
    if (claim) return repeated(tx, chat, claim)
    const lane = await settleLane(tx, chat)
    const messageId = await tx.messages.append(lane.sessionId, { role: 'user', content })
    await addClaim(tx.db, key, {
      routeId: lane.routeId,
      messageId,
      senderId: chat.personId === '' ? null : chat.personId,
      senderName: sender ?? null,
      replyTo,
      sentAt,
    })
    return { lane, messageId, duplicate: false, settled: false }
  })
}

/** The lane of the session that holds the message, even if the chat has moved on since. */
async function repeated(tx: StoreTransaction, chat: Chat, claim: Claim): Promise<Inbound> {
  const { messageId, sessionId, settled } = claim
  const current = await settleLane(tx, chat)
  if (sessionId === undefined) return { lane: current, messageId, duplicate: true, settled: true }
  const lane = toLane(chat, current.routeId, sessionId)
  return { lane, messageId, duplicate: true, settled }
}

function secondsOf(at: number | Date | undefined): number | null {
  if (at === undefined) return null
  const seconds = at instanceof Date ? at.getTime() / 1000 : at
  if (Number.isFinite(seconds)) return seconds
  throw new InvalidInputError('at', 'must be a date or seconds since the epoch')
}

import { type ChatSource, type ChatSourceInput, normalizeSource } from './chat-source.ts'
import { resetsOf, type ChatResets, type ResetOptions } from './reset-options.ts'
import {
  canonicalWhatsAppId,
  routeParts,
  sessionKey,
  type RouteParts,
  type SessionKeyOptions,
} from './session-key.ts'

/** A message's source with everything that follows from it: which conversation, whose. */
export interface Chat {
  readonly source: ChatSource
  readonly parts: RouteParts
  readonly key: string
  /** Several people write into the conversation. */
  readonly shared: boolean
  /** Who is writing, '' when the platform does not say. */
  readonly personId: string
  /** Whom alone the conversation belongs to, '' when it is shared or nobody knows. */
  readonly ownerId: string
  readonly resets: ChatResets
}

export interface ChatOptions extends SessionKeyOptions {
  /** When chats leave their sessions by themselves; never by default. */
  readonly resets?: ResetOptions | undefined
}

/** @throws {InvalidInputError} when the source is invalid. */
export function chatOf(input: ChatSourceInput, options: ChatOptions): Chat {
  const source = normalizeSource(input)
  const parts = routeParts(source, options)
  const shared = parts.chatType !== 'dm' && parts.userId === ''
  const personId = personOf(source, options)
  return {
    source,
    parts,
    key: sessionKey(source, options),
    shared,
    personId,
    ownerId: shared ? '' : personId,
    resets: resetsOf(source, options.resets),
  }
}

/** In a shared session each text says who wrote it, as in Hermes' own gateway. */
export function attributedText(chat: Chat, text: string, senderName: string | undefined): string {
  if (!chat.shared) return text
  // A name with brackets or line breaks could pass for somebody else's message.
  const name = (senderName ?? chat.personId).replaceAll(/[[\]\s]+/g, ' ').trim()
  return name === '' ? text : `[${name}] ${text}`
}

function personOf(source: ChatSource, options: SessionKeyOptions): string {
  const id = source.userIdAlt ?? source.userId ?? ''
  return source.platform === 'whatsapp' ? canonicalWhatsAppId(id, options.expandWhatsAppAlias) : id
}

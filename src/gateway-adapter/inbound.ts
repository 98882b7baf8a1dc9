import type { ChatSource } from './chat-source.ts'

/** A file or other media of a message; only what there is to know about it, not the bytes. */
export interface Attachment {
  readonly kind:
    | 'image'
    | 'video'
    | 'audio'
    | 'voice'
    | 'file'
    | 'sticker'
    | 'location'
    | 'contact'
    | 'poll'
    | 'other'
  /** Telegram: the `file_id` to download it with. */
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly mimeType?: string | undefined
  readonly sizeBytes?: number | undefined
  readonly url?: string | undefined
}

/** A message somebody wrote, or the new text of one they edited. */
export interface InboundMessage {
  readonly kind: 'message' | 'edited'
  readonly source: ChatSource
  /** '' when the message is only media. */
  readonly text: string
  /** Seconds since the epoch: when it was written, or edited. */
  readonly at: number
  readonly messageId: string
  readonly replyToMessageId?: string | undefined
  readonly senderName?: string | undefined
  readonly attachments: readonly Attachment[]
}

/** The chat has a new id and goes on under it. Telegram announces it in both chats. */
export interface InboundMigration {
  readonly kind: 'migrated'
  readonly fromChatId: string
  readonly toChatId: string
}

/** Nothing to store or answer. Messages of bots are among them, so that two bots never answer each other for ever. */
export interface InboundIgnored {
  readonly kind: 'ignored'
  readonly reason:
    | 'own message'
    | 'bot message'
    | 'service message'
    | 'partial message'
    | 'no message id'
    | 'unsupported update'
}

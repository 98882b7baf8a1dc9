import { type ChatId, type ChatSource, idText, normalizeSource } from './chat-source.ts'
import type { InboundIgnored, InboundMessage, InboundMigration } from './inbound.ts'
import { optionsOf } from './arguments.ts'
import { isRecord, isTelegramMessage } from './telegram-shape.ts'
import { telegramAttachments } from './telegram-attachments.ts'
import type {
  TelegramChat,
  TelegramMessage,
  TelegramUpdate,
  TelegramUser,
} from './telegram-update.ts'

/** Which bot it is. */
export interface TelegramOptions {
  /** The bot's own id: becomes the source's `account` and tells its own messages from other bots'. */
  readonly botId?: ChatId
}

/** Telegram leaves the thread id out of messages in a forum's General topic, whose id is 1. */
const generalTopic = 1

/** The chat and sender of an update that carries a message; undefined for every other update. */
export function telegramSource(
  update: TelegramUpdate,
  options?: TelegramOptions,
): ChatSource | undefined {
  const message = messageOf(update)
  return message && sourceOf(message, optionsOf('options', options))
}

/**
 * What an update means for the store (gateways.md §2.1).
 *
 * @throws {InvalidInputError} when an id in it has lost digits.
 */
export function telegramInbound(
  update: TelegramUpdate,
  options?: TelegramOptions,
): InboundMessage | InboundMigration | InboundIgnored {
  const message = messageOf(update)
  if (message === undefined) return { kind: 'ignored', reason: 'unsupported update' }

  const migration = migrationOf(message)
  if (migration) return migration

  const source = sourceOf(message, optionsOf('options', options))
  if (source.isBot === true) {
    const isOwn = source.account !== undefined && source.account === source.userId
    return { kind: 'ignored', reason: isOwn ? 'own message' : 'bot message' }
  }
  // Ephemeral messages are shown to one person and have no id that could be claimed once.
  if (message.message_id === 0) return { kind: 'ignored', reason: 'no message id' }

  const text = message.text ?? message.caption ?? ''
  const attachments = telegramAttachments(message)
  if (text === '' && attachments.length === 0) return { kind: 'ignored', reason: 'service message' }

  const isEdit = (update.edited_message ?? update.edited_channel_post) !== undefined
  return {
    kind: isEdit ? 'edited' : 'message',
    source,
    text,
    at: isEdit ? (message.edit_date ?? message.date) : message.date,
    messageId: String(message.message_id),
    replyToMessageId: replyOf(message),
    senderName: source.userName,
    attachments,
  }
}

/** Undefined also for what only looks like an update: a webhook's body is what somebody sent there. */
function messageOf(update: TelegramUpdate): TelegramMessage | undefined {
  if (!isRecord(update)) return undefined
  const message =
    update.message ?? update.edited_message ?? update.channel_post ?? update.edited_channel_post
  return isTelegramMessage(message) ? message : undefined
}

function sourceOf(message: TelegramMessage, { botId }: TelegramOptions): ChatSource {
  const { chat, from } = message
  const chatType = chatTypeOf(chat)
  return normalizeSource({
    platform: 'telegram',
    account: botId,
    chatType,
    chatId: chat.id,
    chatName: nameOf(chat),
    threadId: threadOf(message, chatType),
    messageId: message.message_id,
    ...senderOf(message, chatType),
    isBot: from?.is_bot === true && message.sender_chat === undefined,
  })
}

function chatTypeOf(chat: TelegramChat): 'dm' | 'group' | 'channel' {
  if (chat.type === 'private') return 'dm'
  return chat.type === 'channel' ? 'channel' : 'group'
}

function threadOf(message: TelegramMessage, chatType: string): number | undefined {
  const { message_thread_id: threadId, is_topic_message: isTopic, chat } = message
  if (chatType === 'dm') return isTopic ? threadId : undefined
  if (chatType !== 'group') return undefined
  if (chat.is_forum) return threadId ?? generalTopic
  // Plain reply threads of ordinary supergroups carry a thread id too; they are not conversations of their own.
  return isTopic ? threadId : undefined
}

function senderOf(
  message: TelegramMessage,
  chatType: string,
): { userId: number | undefined; userName: string | undefined } {
  const { chat, from, sender_chat: senderChat, author_signature: signature } = message
  // Every post of a channel is signed by the channel itself: that is the chat, not a person in it.
  if (chatType === 'channel')
    return { userId: from?.id, userName: signature ?? (from && nameOf(from)) }
  // Anonymous admins and people writing as a channel come with a stand-in user that all chats on Telegram share.
  // Taking it for a person would make strangers one user.
  if (senderChat) return { userId: senderChat.id, userName: nameOf(senderChat) }
  if (from) return { userId: from.id, userName: nameOf(from) }
  return chatType === 'dm'
    ? { userId: chat.id, userName: nameOf(chat) }
    : { userId: undefined, userName: undefined }
}

function nameOf(named: TelegramChat | TelegramUser): string | undefined {
  if ('title' in named && named.title !== undefined) return named.title
  return [named.first_name, named.last_name].filter(Boolean).join(' ')
}

function migrationOf(message: TelegramMessage): InboundMigration | undefined {
  const from = idText('migrate_from_chat_id', message.migrate_from_chat_id)
  const to = idText('migrate_to_chat_id', message.migrate_to_chat_id)
  const here = String(message.chat.id)
  if (to !== undefined) return { kind: 'migrated', fromChatId: here, toChatId: to }
  if (from !== undefined) return { kind: 'migrated', fromChatId: from, toChatId: here }
  return undefined
}

function replyOf(message: TelegramMessage): string | undefined {
  const repliedTo = message.reply_to_message?.message_id
  // Every message of a topic "replies" to the service message that opened the topic.
  if (message.is_topic_message && repliedTo === message.message_thread_id) return undefined
  return repliedTo === undefined ? undefined : String(repliedTo)
}

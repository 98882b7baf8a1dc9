import { requireObject } from '../repositories/input.ts'
import { optionsOf } from './arguments.ts'
import { type ChatId, type ChatSource, normalizeSource } from './chat-source.ts'
import type {
  DiscordAttachment,
  DiscordChannel,
  DiscordInteraction,
  DiscordMember,
  DiscordMessage,
  DiscordSticker,
  DiscordUser,
} from './discord-message.ts'
import type { Attachment, InboundIgnored, InboundMessage } from './inbound.ts'

/** Which bot it is. */
export interface DiscordOptions {
  /** The bot's own user id: becomes the source's `account` and tells its own messages from other bots'. */
  readonly botId?: ChatId
}

/** `MessageReferenceType.Forward` of the Discord API. */
const forwardReference = 1
/** `InteractionContextType.PrivateChannel` of the Discord API. */
const privateChannelContext = 2

/** The chat and sender of a message. @throws {InvalidInputError} for what is no message. */
export function discordSource(message: DiscordMessage, options?: DiscordOptions): ChatSource {
  requireObject('message', message)
  const { botId } = optionsOf('options', options)
  return normalizeSource({
    ...placeOf(message.channel, message.channelId, message.guildId),
    account: botId,
    userId: message.author?.id,
    userName: displayName(message.author, message.member),
    messageId: message.id,
    isBot: message.author?.bot === true || typeof message.webhookId === 'string',
  })
}

/**
 * The chat and user of a slash command or button, so that it acts on the session the user's messages go to.
 *
 * In a chat unknown to the client (an app used where its bot isn't) a thread can't be told from a channel.
 *
 * @throws {InvalidInputError} for what is no interaction.
 */
export function discordInteractionSource(
  interaction: DiscordInteraction,
  options?: DiscordOptions,
): ChatSource {
  requireObject('interaction', interaction)
  requireObject('interaction.user', interaction.user)
  const { botId } = optionsOf('options', options)
  const place = placeOf(interaction.channel, interaction.channelId, interaction.guildId)
  return normalizeSource({
    ...place,
    // Other people's conversation, where the bot is only a tool: each of them has their own session with it.
    chatType: interaction.context === privateChannelContext ? 'group' : place.chatType,
    account: botId,
    userId: interaction.user.id,
    userName: displayName(interaction.user, interaction.member),
    messageId: interaction.id,
    isBot: interaction.user.bot,
  })
}

/**
 * What a message means for the store, for both `MessageCreate` and `MessageUpdate`: it is `edited` once it has an edit
 * time. An update without one (Discord adds link previews so) is the same `message` again.
 */
export function discordInbound(
  message: DiscordMessage,
  options?: DiscordOptions,
): InboundMessage | InboundIgnored {
  if (!isWhole(message)) {
    return { kind: 'ignored', reason: 'partial message' }
  }
  const source = discordSource(message, options)
  if (source.isBot === true) {
    const isOwn = source.account !== undefined && source.account === source.userId
    return { kind: 'ignored', reason: isOwn ? 'own message' : 'bot message' }
  }
  if (message.system === true) return { kind: 'ignored', reason: 'service message' }

  const bodies = [message, ...message.messageSnapshots.values()]
  const isForward = message.reference?.type === forwardReference
  return {
    kind: message.editedTimestamp === null ? 'message' : 'edited',
    source,
    text: bodies.flatMap(({ content }) => content || []).join('\n'),
    at: (message.editedTimestamp ?? message.createdTimestamp) / 1000,
    messageId: message.id,
    replyToMessageId: isForward ? undefined : message.reference?.messageId,
    senderName: source.userName,
    attachments: bodies.flatMap(({ attachments, stickers }) => [
      ...[...(attachments?.values() ?? [])].map(toAttachment),
      ...[...(stickers?.values() ?? [])].map(toStickerAttachment),
    ]),
  }
}

/** Partial messages have only ids; anything else that is no message counts as such. */
function isWhole(message: DiscordMessage): boolean {
  return (
    typeof message === 'object' &&
    message !== null &&
    typeof message.author === 'object' &&
    message.author !== null &&
    typeof message.content === 'string' &&
    typeof message.createdTimestamp === 'number' &&
    [message.attachments, message.stickers, message.messageSnapshots].every(
      (values) => typeof values?.values === 'function',
    )
  )
}

function placeOf(channel: DiscordChannel | null, channelId: string | null, guildId: string | null) {
  const isThread = channel?.isThread() === true
  const isDm = channel ? channel.isDMBased() : guildId === null
  const otherType = isDm ? 'dm' : 'group'
  return {
    platform: 'discord',
    chatType: isThread ? 'thread' : otherType,
    chatId: channelId,
    threadId: isThread ? channelId : undefined,
    parentChatId: isThread ? channel.parentId : undefined,
    guildId,
    chatName: channel?.name,
  }
}

/** The name people see in that chat: the nickname in the guild, else the user's own. */
function displayName(user: DiscordUser | null, member?: DiscordMember | null): string | undefined {
  return member?.displayName ?? member?.nick ?? user?.displayName
}

function toAttachment(file: DiscordAttachment): Attachment {
  return {
    kind: kindOf(file),
    id: file.id,
    name: file.name,
    mimeType: file.contentType ?? undefined,
    sizeBytes: file.size,
    url: file.url,
  }
}

function toStickerAttachment(sticker: DiscordSticker): Attachment {
  return { kind: 'sticker', id: sticker.id, name: sticker.name, url: sticker.url }
}

function kindOf({ contentType, waveform }: DiscordAttachment): Attachment['kind'] {
  if (waveform !== null) return 'voice'
  const family = contentType?.split('/')[0]
  return family === 'image' || family === 'video' || family === 'audio' ? family : 'file'
}

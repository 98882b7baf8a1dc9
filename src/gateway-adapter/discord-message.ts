/**
 * The fields of discord.js 14's `Message` that the translator reads; the real one fits as it is. What is null only in
 * partial messages is nullable here.
 */
export interface DiscordMessage {
  readonly id: string
  readonly channelId: string
  readonly guildId: string | null
  readonly channel: DiscordChannel | null
  readonly author: DiscordUser | null
  readonly member?: DiscordMember | null
  readonly webhookId: string | null
  readonly system: boolean | null
  readonly content: string | null
  /** Milliseconds since the epoch, as `editedTimestamp`. */
  readonly createdTimestamp: number
  readonly editedTimestamp: number | null
  readonly attachments: Values<DiscordAttachment>
  readonly stickers: Values<DiscordSticker>
  readonly reference: { readonly messageId?: string | undefined; readonly type: number } | null
  /** What a forwarded message consists of; its own content is empty. */
  readonly messageSnapshots: Values<
    Pick<DiscordMessage, 'content'> & {
      readonly attachments: Values<DiscordAttachment> | null
      readonly stickers: Values<DiscordSticker> | null
    }
  >
}

/** The fields of discord.js 14's interactions (slash commands, buttons) that the translator reads. */
export interface DiscordInteraction {
  readonly id: string
  /** 0 in a guild, 1 in a direct message with the bot, 2 in other people's direct messages. */
  readonly context: number | null
  readonly channelId: string | null
  readonly guildId: string | null
  readonly channel: DiscordChannel | null
  readonly user: DiscordUser
  readonly member?: DiscordMember | null
}

export interface DiscordChannel {
  readonly id: string
  readonly name?: string | null
  readonly parentId?: string | null
  isDMBased(): boolean
  isThread(): boolean
}

export interface DiscordUser {
  readonly id: string
  readonly bot: boolean
  readonly displayName: string
}

/** A cached member has its `displayName`; a raw one, in interactions, only the nickname. */
export interface DiscordMember {
  readonly displayName?: string
  readonly nick?: string | null
}

export interface DiscordAttachment {
  readonly id: string
  readonly name: string
  readonly contentType: string | null
  readonly size: number
  readonly url: string
  /** Only voice messages have one. */
  readonly waveform: string | null
}

export interface DiscordSticker {
  readonly id: string
  readonly name: string
  readonly url: string
}

/** A discord.js `Collection`, or any Map. */
interface Values<T> {
  values(): Iterable<T>
}

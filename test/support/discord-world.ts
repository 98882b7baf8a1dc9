import type { APIMessage, APIUser } from 'discord.js'

const DISCORD_EPOCH = 1_420_070_400_000n

/** What Discord answers instead of a result; `code` is Discord's own number. */
export class DiscordApiError extends Error {
  readonly status: number
  readonly code: number
  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export interface DiscordChannel {
  id: string
  /** 0 text, 1 DM, 11 public thread. */
  type: 0 | 1 | 11
  name?: string
  guild_id?: string
  parent_id?: string
  [field: string]: unknown
}

export interface NewMessage {
  channelId: string
  author: APIUser
  content: string
  id?: string
  replyTo?: string
  nonce?: string
}

/** One guild with a text channel, its threads and the bot's direct messages, as raw API objects. */
export class DiscordWorld {
  readonly bot: APIUser
  readonly guildId: string
  readonly channelId: string
  readonly messages = new Map<string, APIMessage>()
  readonly #channels = new Map<string, DiscordChannel>()
  #lastId = 0n

  constructor() {
    this.bot = { ...this.user(this.newId(), 'fake-bot'), bot: true }
    this.guildId = this.newId()
    this.channelId = this.newId()
    this.#channels.set(this.channelId, {
      id: this.channelId,
      type: 0,
      name: 'general',
      guild_id: this.guildId,
      position: 0,
      permission_overwrites: [],
      nsfw: false,
      parent_id: null,
    } as unknown as DiscordChannel)
  }

  /** A snowflake of now: always rising, always beyond 2^53. */
  newId(): string {
    const now = (BigInt(Date.now()) - DISCORD_EPOCH) << 22n
    this.#lastId = now > this.#lastId ? now : this.#lastId + 1n
    return String(this.#lastId)
  }

  user(id: string, name: string = `user-${id.slice(-4)}`): APIUser {
    return { id, username: name, global_name: name, discriminator: '0', avatar: null }
  }

  channel(id: string): DiscordChannel {
    const channel = this.#channels.get(id)
    if (channel === undefined) throw new DiscordApiError(404, 10003, 'Unknown Channel')
    return channel
  }

  /** The direct-message channel with a user; the same one each time. */
  dmWith(userId: string): DiscordChannel {
    const isTheirs = ({ type, recipients }: DiscordChannel) =>
      type === 1 && (recipients as APIUser[]).some(({ id }) => id === userId)
    const known = [...this.#channels.values()].find(isTheirs)
    if (known !== undefined) return known
    const id = this.newId()
    const channel: DiscordChannel = { id, type: 1, recipients: [this.user(userId)] }
    this.#channels.set(id, channel)
    return channel
  }

  newThread(name: string, parentId: string, ownerId: string): DiscordChannel {
    const id = this.newId()
    const at = new Date().toISOString()
    const thread: DiscordChannel = {
      id,
      type: 11,
      name,
      guild_id: this.guildId,
      parent_id: parentId,
      owner_id: ownerId,
      message_count: 0,
      member_count: 1,
      total_message_sent: 0,
      rate_limit_per_user: 0,
      thread_metadata: {
        archived: false,
        locked: false,
        auto_archive_duration: 1440,
        archive_timestamp: at,
        create_timestamp: at,
      },
    }
    this.#channels.set(id, thread)
    return thread
  }

  newMessage(from: NewMessage): APIMessage {
    const channel = this.channel(from.channelId)
    const message = {
      id: from.id ?? this.newId(),
      channel_id: channel.id,
      type: 0,
      author: from.author,
      content: from.content,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      pinned: false,
      mentions: [],
      mention_roles: [],
      attachments: [],
      embeds: [],
      ...(from.nonce !== undefined && { nonce: from.nonce }),
      ...(from.replyTo !== undefined && {
        type: 19,
        message_reference: { type: 0, message_id: from.replyTo, channel_id: channel.id },
        referenced_message: this.messages.get(from.replyTo) ?? null,
      }),
    } as unknown as APIMessage
    this.messages.set(message.id, message)
    return message
  }

  message(id: string): APIMessage {
    const message = this.messages.get(id)
    if (message === undefined) throw new DiscordApiError(404, 10008, 'Unknown Message')
    return message
  }

  edit(id: string, content: string): APIMessage {
    const edited = { ...this.message(id), content, edited_timestamp: new Date().toISOString() }
    this.messages.set(id, edited)
    return edited
  }

  /** What GUILD_CREATE carries. */
  guild(): object {
    const channels = [...this.#channels.values()]
    const everyone = {
      id: this.guildId,
      name: '@everyone',
      permissions: '2251799813685247',
      position: 0,
      color: 0,
      hoist: false,
      managed: false,
      mentionable: false,
      flags: 0,
    }
    return {
      id: this.guildId,
      name: 'Fake Guild',
      icon: null,
      owner_id: '1',
      member_count: 2,
      joined_at: new Date().toISOString(),
      large: false,
      unavailable: false,
      features: [],
      roles: [everyone],
      emojis: [],
      stickers: [],
      presences: [],
      voice_states: [],
      stage_instances: [],
      guild_scheduled_events: [],
      soundboard_sounds: [],
      premium_tier: 0,
      nsfw_level: 0,
      verification_level: 0,
      explicit_content_filter: 0,
      default_message_notifications: 0,
      mfa_level: 0,
      preferred_locale: 'en-US',
      members: [this.member(this.bot)],
      channels: channels.filter(({ type }) => type === 0),
      threads: channels.filter(({ type }) => type === 11),
    }
  }

  member(user: APIUser): { user: APIUser; [field: string]: unknown } {
    return {
      user,
      roles: [],
      joined_at: '2020-01-01T00:00:00.000Z',
      deaf: false,
      mute: false,
      nick: null,
      avatar: null,
      flags: 0,
      permissions: '2251799813685247',
    }
  }

  /** A message as the gateway sends it: with its guild and member, or as a direct message. */
  event(message: APIMessage): object {
    const event = this.inGuild({
      ...message,
      channel_type: this.channel(message.channel_id).type,
    })
    const { user: _user, ...member } = this.member(message.author)
    return 'guild_id' in event ? { ...event, member } : event
  }

  /** The same event, with the guild of its channel if it has one. */
  inGuild(event: { channel_id: string; [field: string]: unknown }): object {
    const { guild_id: guildId } = this.channel(event.channel_id)
    return guildId === undefined ? event : { ...event, guild_id: guildId }
  }
}

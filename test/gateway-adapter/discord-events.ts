import {
  type ChatInputCommandInteraction,
  Client,
  Events,
  type Message,
  Partials,
  type PartialMessage,
  SnowflakeUtil,
} from 'discord.js'

/** discord.js has no public way to make a Message without a connection; these are the entries its gateway uses. */
interface ClientInternals {
  user: unknown
  users: { _add(user: object): unknown }
  guilds: { _add(guild: object): unknown }
  actions: Record<
    'MessageCreate' | 'InteractionCreate' | 'MessageUpdate',
    { handle(event: object): unknown }
  >
}

export const annId = '1180591620717411303'
export const annUser = {
  id: annId,
  username: 'ann',
  discriminator: '0',
  global_name: 'Ann',
  avatar: null,
}
const annMember = { nick: 'Annie', roles: [], joined_at: null, permissions: '0' }

/** The time of every message, in seconds. */
export const sentAt = 1_704_067_200.5

const rawMessage = {
  channel_id: '500',
  guild_id: '1',
  type: 0,
  content: 'hello',
  author: annUser,
  timestamp: new Date(sentAt * 1000).toISOString(),
  edited_timestamp: null,
  attachments: [],
  embeds: [],
  mentions: [],
  mention_roles: [],
  mention_everyone: false,
  pinned: false,
  tts: false,
}

/** A real client, not connected, in guild 1 with channel 500 "general", its thread 600 and the member Ann. */
export class DiscordEvents {
  readonly #client = new Client({
    intents: [],
    partials: [Partials.Channel, Partials.Message],
  })
  readonly #internals = this.#client as unknown as ClientInternals
  #messages = 0n

  constructor() {
    this.#internals.user = this.#internals.users._add({ ...annUser, id: '999', bot: true })
    this.#internals.guilds._add({
      id: '1',
      name: 'Guild',
      channels: [{ id: '500', type: 0, name: 'general' }],
      threads: [{ id: '600', type: 11, name: 'plans', parent_id: '500' }],
      members: [{ ...annMember, user: annUser }],
      roles: [],
    })
  }

  /** The Message that discord.js emits for a MESSAGE_CREATE event with these raw fields. */
  message(fields: object = {}): Message {
    let created: Message | undefined
    this.#client.once(Events.MessageCreate, (message) => (created = message))
    this.#internals.actions.MessageCreate.handle({
      ...rawMessage,
      id: this.#nextId(),
      ...fields,
    })
    if (!created) throw new Error('discord.js did not emit the message')
    return created
  }

  directMessage(fields: object = {}): Message {
    return this.message({ channel_id: '888', guild_id: undefined, channel_type: 1, ...fields })
  }

  /** What discord.js has of a message it never saw, when it is edited. */
  uncachedMessage(): PartialMessage {
    const edit = { ...rawMessage, id: this.#nextId() }
    const { old } = this.#internals.actions.MessageUpdate.handle(edit) as { old: PartialMessage }
    return old
  }

  /** The interaction for a slash command with these raw fields. */
  command(fields: object = {}): ChatInputCommandInteraction {
    let created: ChatInputCommandInteraction | undefined
    this.#client.once(Events.InteractionCreate, (interaction) => {
      if (interaction.isChatInputCommand()) created = interaction
    })
    this.#internals.actions.InteractionCreate.handle({
      id: '2000',
      application_id: '999',
      type: 2,
      token: 'token',
      version: 1,
      channel: { id: '500', type: 0 },
      guild_id: '1',
      context: 0,
      member: { ...annMember, user: annUser },
      data: { id: '1', name: 'new', type: 1 },
      entitlements: [],
      authorizing_integration_owners: {},
      ...fields,
    })
    if (!created) throw new Error('discord.js did not emit the interaction')
    return created
  }

  /** discord.js reads the time of a message from its id and emits no id twice. */
  #nextId(): string {
    this.#messages += 1n
    return SnowflakeUtil.generate({
      timestamp: sentAt * 1000,
      increment: this.#messages,
    }).toString()
  }
}

import type { APIMessage } from 'discord.js'
import type { Recorder } from './changes.ts'
import { DiscordGateway } from './discord-gateway.ts'
import { DiscordRest } from './discord-rest.ts'
import type { DiscordCall } from './discord-rest.ts'
import { DiscordApiError, DiscordWorld } from './discord-world.ts'
import type { DiscordChannel } from './discord-world.ts'
import { startLocalServer } from './local-server.ts'
import type { LocalServer } from './local-server.ts'

export interface IncomingDiscordMessage {
  authorId: string
  content: string
  authorName?: string
  /** The guild's text channel by default; the id of a thread for a message in it. */
  channelId?: string
  /** Sends to the direct-message channel with the author instead. */
  dm?: boolean
  id?: string
  replyTo?: string
}

export interface IncomingCommand {
  name: string
  userId: string
  /** String options by name. */
  options?: Record<string, string>
  channelId?: string
  dm?: boolean
}

/** Starts Discord on the loopback interface: REST and gateway, one bot in one guild with one text channel. */
export async function startFakeDiscord(options: { token?: string } = {}): Promise<FakeDiscord> {
  const token = options.token ?? 'fake-discord-token'
  const world = new DiscordWorld()
  // The REST side answers from the gateway's address, and the gateway hangs on the REST side's server.
  const late: { gateway?: DiscordGateway; url: string } = { url: '' }
  const rest = new DiscordRest(
    world,
    token,
    (t, d) => late.gateway?.dispatch(t, d),
    () => late.url,
  )
  const server = await startLocalServer((request) => rest.answer(request))
  late.url = `${server.origin.replace('http', 'ws')}/gateway`
  late.gateway = new DiscordGateway(world, token, server.server, late.url)
  return new FakeDiscord(token, world, rest, late.gateway, server)
}

export class FakeDiscord {
  readonly token: string
  /** The `rest.api` option of discord.js. */
  readonly rest: string
  readonly guildId: string
  readonly channelId: string
  readonly botId: string
  readonly #world: DiscordWorld
  readonly #rest: DiscordRest
  readonly #gateway: DiscordGateway
  readonly #server: LocalServer

  constructor(
    token: string,
    world: DiscordWorld,
    rest: DiscordRest,
    gateway: DiscordGateway,
    server: LocalServer,
  ) {
    this.token = token
    this.rest = `${server.origin}/api`
    this.guildId = world.guildId
    this.channelId = world.channelId
    this.botId = world.bot.id
    this.#world = world
    this.#rest = rest
    this.#gateway = gateway
    this.#server = server
  }

  /** What the bot did that others can see, oldest first. */
  get sent(): readonly DiscordCall[] {
    return this.#calls.items
  }

  /** The oldest call nobody asked for yet; by default the next text: a message, an answer or a follow-up. */
  nextSent(
    matches: (call: DiscordCall) => boolean = ({ kind }) =>
      kind === 'message' || kind === 'reply' || kind === 'follow-up',
    timeoutMs?: number,
  ): Promise<DiscordCall> {
    return this.#calls.next(matches, timeoutMs, 'call to Discord')
  }

  /** Refuses the next attempt to post, edit or answer. discord.js itself repeats one refused with a 5xx. */
  failNext(failure: { status: number; code?: number; message: string; times?: number }): void {
    const error = new DiscordApiError(failure.status, failure.code ?? 0, failure.message)
    this.#rest.failures.push(...Array.from({ length: failure.times ?? 1 }, () => error))
  }

  /** Carries out the next post, edit or answer but never confirms it: the moment between sending and knowing. */
  holdNext(): void {
    this.#rest.holding = true
  }

  waitForClient(timeoutMs?: number): Promise<void> {
    return this.#gateway.waitForClient(timeoutMs)
  }

  waitForResume(count: number = 1, timeoutMs?: number): Promise<void> {
    return this.#gateway.waitForResume(count, timeoutMs)
  }

  pushMessage(incoming: IncomingDiscordMessage): APIMessage {
    const { authorId, authorName, content, id, replyTo } = incoming
    const message = this.#world.newMessage({
      channelId: this.#place(incoming, authorId),
      content,
      author: this.#world.user(authorId, authorName),
      ...(id !== undefined && { id }),
      ...(replyTo !== undefined && { replyTo }),
    })
    this.dispatch('MESSAGE_CREATE', this.#world.event(message))
    return message
  }

  /** Sends the creation of a message once more. discord.js drops what it has in its cache, as after a restart it has not. */
  redeliver(messageId: string): void {
    this.dispatch('MESSAGE_CREATE', this.#world.event(this.#world.message(messageId)))
  }

  pushEdit(messageId: string, content: string): APIMessage {
    const message = this.#world.edit(messageId, content)
    this.dispatch('MESSAGE_UPDATE', this.#world.event(message))
    return message
  }

  pushDelete(messageId: string): void {
    const { channel_id } = this.#world.message(messageId)
    this.#world.messages.delete(messageId)
    this.dispatch('MESSAGE_DELETE', this.#world.inGuild({ id: messageId, channel_id }))
  }

  /** All in the channel of the first. */
  pushBulkDelete(messageIds: [string, ...string[]]): void {
    const { channel_id } = this.#world.message(messageIds[0])
    for (const id of messageIds) this.#world.messages.delete(id)
    this.dispatch('MESSAGE_DELETE_BULK', this.#world.inGuild({ ids: messageIds, channel_id }))
  }

  pushThread(name: string, ownerId: string, parentId: string = this.channelId): DiscordChannel {
    const thread = this.#world.newThread(name, parentId, ownerId)
    this.dispatch('THREAD_CREATE', { ...thread, newly_created: true })
    return thread
  }

  /** A user gives a slash command; the bot has to answer through the callback. */
  pushCommand(command: IncomingCommand): { id: string; token: string } {
    const id = this.#world.newId()
    const token = `interaction-${id}`
    const channelId = this.#place(command, command.userId)
    const user = this.#world.user(command.userId)
    this.#rest.interactions.set(token, { id, token, channelId })
    const options = Object.entries(command.options ?? {})
    const event = this.#world.inGuild({ id, token, channel_id: channelId })
    this.dispatch('INTERACTION_CREATE', {
      ...event,
      ...('guild_id' in event ? { member: this.#world.member(user) } : { user }),
      application_id: this.botId,
      type: 2,
      version: 1,
      locale: 'en-US',
      entitlements: [],
      authorizing_integration_owners: {},
      app_permissions: '0',
      attachment_size_limit: 1,
      channel: this.#world.channel(channelId),
      data: {
        id: this.#world.newId(),
        name: command.name,
        type: 1,
        options: options.map(([name, value]) => ({ name, value, type: 3 })),
      },
    })
    return { id, token }
  }

  /** Any gateway event, as raw as it comes. */
  dispatch(t: string, d: object): void {
    this.#gateway.dispatch(t, d)
  }

  /**
   * Cuts the connection as a failing network would; the client comes back with RESUME and gets what it missed,
   * plus the last `replayLast` events it had seen already.
   */
  dropConnection({ replayLast = 0 }: { replayLast?: number } = {}): void {
    this.#gateway.dropConnection(replayLast)
  }

  /** Destroy the clients first: discord.js tries to reconnect for ever. */
  async close(): Promise<void> {
    await this.#gateway.close()
    await this.#server.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  get #calls(): Recorder<DiscordCall> {
    return this.#rest.calls
  }

  #place({ channelId, dm }: { channelId?: string; dm?: boolean }, userId: string): string {
    if (dm === true) return this.#world.dmWith(userId).id
    return channelId ?? this.channelId
  }
}

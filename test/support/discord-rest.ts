import type { APIMessage } from 'discord.js'
import { Recorder } from './changes.ts'
import { DiscordApiError } from './discord-world.ts'
import type { DiscordWorld } from './discord-world.ts'
import { untilGone } from './local-server.ts'
import type { LocalRequest, LocalResponse } from './local-server.ts'

/** A request that changed something. */
export interface DiscordCall {
  kind: 'message' | 'edit' | 'delete' | 'typing' | 'reply' | 'follow-up' | 'commands'
  /** Empty for `commands`. */
  channelId: string
  /** The text; empty where there is none. */
  content: string
  body: unknown
  /** What the bot got back: the message, for a kind that makes or changes one. */
  result: unknown
}

export interface DiscordInteraction {
  id: string
  token: string
  channelId: string
  /** The message the bot answered with, once it did. */
  replyId?: string
}

interface MessageBody {
  content?: string
  nonce?: string | number
  enforce_nonce?: boolean
  message_reference?: { message_id: string }
  embeds?: unknown[]
  attachments?: unknown[]
}

const SPEAKING = /\/messages(?:\/[^/]+)?$|\/callback$|^\/webhooks\//

type Handler = (ids: string[], body: unknown, request: LocalRequest) => unknown

/** The HTTP side: the routes a chat bot uses, each with Discord's own checks. */
export class DiscordRest {
  readonly calls = new Recorder<DiscordCall>()
  readonly interactions = new Map<string, DiscordInteraction>()
  /** What the next attempts to say something meet. */
  readonly failures: DiscordApiError[] = []
  /** Whether the next attempt to say something stays unanswered. */
  holding = false
  readonly #world: DiscordWorld
  readonly #token: string
  readonly #dispatch: (t: string, d: object) => void
  readonly #gatewayUrl: () => string

  constructor(
    world: DiscordWorld,
    token: string,
    dispatch: (t: string, d: object) => void,
    gatewayUrl: () => string,
  ) {
    this.#world = world
    this.#token = token
    this.#dispatch = dispatch
    this.#gatewayUrl = gatewayUrl
  }

  async answer(request: LocalRequest): Promise<LocalResponse> {
    try {
      const path = request.path.replace(/^\/api\/v10/, '')
      for (const [method, pattern, handle] of this.#routes) {
        const ids = method === request.method ? pattern.exec(path) : null
        if (ids === null) continue
        const carriesToken = path.startsWith('/interactions/') || path.startsWith('/webhooks/')
        if (!carriesToken && request.headers.authorization !== `Bot ${this.#token}`)
          throw new DiscordApiError(401, 0, '401: Unauthorized')
        const speaks = method !== 'GET' && SPEAKING.test(path)
        const failure = speaks ? this.failures.shift() : undefined
        if (failure !== undefined) throw failure
        const result = handle(ids.slice(1), withoutForm(request.body), request)
        if (speaks && this.holding) {
          this.holding = false
          await untilGone(request.gone)
        }
        return result === undefined ? { status: 204 } : { status: 200, body: result }
      }
      throw new DiscordApiError(404, 0, '404: Not Found')
    } catch (error) {
      if (!(error instanceof DiscordApiError)) throw error
      return { status: error.status, body: { message: error.message, code: error.code } }
    }
  }

  readonly #routes: [method: string, path: RegExp, handle: Handler][] = [
    ['GET', /^\/gateway\/bot$/, () => this.#gateway()],
    ['GET', /^\/users\/@me$/, () => this.#world.bot],
    [
      'POST',
      /^\/users\/@me\/channels$/,
      (_, body) => this.#world.dmWith((body as { recipient_id: string }).recipient_id),
    ],
    ['GET', /^\/channels\/(\d+)$/, ([id = '']) => this.#world.channel(id)],
    ['GET', /^\/channels\/\d+\/messages\/(\d+)$/, ([id = '']) => this.#world.message(id)],
    [
      'POST',
      /^\/channels\/(\d+)\/messages$/,
      ([id = ''], body) => this.#post('message', id, body as MessageBody),
    ],
    [
      'PATCH',
      /^\/channels\/\d+\/messages\/(\d+)$/,
      ([id = ''], body) => this.#edit(id, body as MessageBody),
    ],
    ['DELETE', /^\/channels\/\d+\/messages\/(\d+)$/, ([id = '']) => this.#delete(id)],
    [
      'POST',
      /^\/channels\/(\d+)\/typing$/,
      ([id = '']) => {
        this.#record('typing', this.#world.channel(id).id, {}, undefined)
      },
    ],
    [
      'PUT',
      /^\/applications\/\d+(?:\/guilds\/\d+)?\/commands$/,
      (_, body) => {
        const commands = (body as object[]).map((command) => this.#toCommand(command))
        this.#record('commands', '', body, commands)
        return commands
      },
    ],
    [
      'POST',
      /^\/interactions\/\d+\/([^/]+)\/callback$/,
      ([token = ''], body, { query }) =>
        this.#callback(token, body as { type: number; data?: MessageBody }, query),
    ],
    [
      'GET',
      /^\/webhooks\/\d+\/([^/]+)\/messages\/@original$/,
      ([token = '']) => this.#world.message(this.#interaction(token).replyId ?? ''),
    ],
    [
      'PATCH',
      /^\/webhooks\/\d+\/([^/]+)\/messages\/@original$/,
      ([token = ''], body) => this.#editReply(this.#interaction(token), body as MessageBody),
    ],
    [
      'POST',
      /^\/webhooks\/\d+\/([^/]+)$/,
      ([token = ''], body) =>
        this.#post('follow-up', this.#interaction(token).channelId, body as MessageBody),
    ],
  ]

  #gateway(): object {
    const limit = { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 }
    return { url: this.#gatewayUrl(), shards: 1, session_start_limit: limit }
  }

  /** Stores the message and, like Discord, tells the bot about its own words. */
  #post(kind: DiscordCall['kind'], channelId: string, body: MessageBody): APIMessage {
    checkContent(body)
    const nonce = body.nonce === undefined ? undefined : String(body.nonce)
    const earlier = [...this.#world.messages.values()].find((m) => m.nonce === nonce)
    if (body.enforce_nonce === true && nonce !== undefined && earlier !== undefined) return earlier
    const message = this.#world.newMessage({
      channelId,
      author: this.#world.bot,
      content: body.content ?? '',
      ...(nonce !== undefined && { nonce }),
      ...(body.message_reference && { replyTo: body.message_reference.message_id }),
    })
    this.#dispatch('MESSAGE_CREATE', this.#world.event(message))
    this.#record(kind, channelId, body, message)
    return message
  }

  #edit(id: string, body: MessageBody): object {
    if (this.#world.message(id).author.id !== this.#world.bot.id)
      throw new DiscordApiError(403, 50005, 'Cannot edit a message authored by another user')
    checkContent(body)
    const message = this.#world.edit(id, body.content ?? '')
    this.#dispatch('MESSAGE_UPDATE', this.#world.event(message))
    this.#record('edit', message.channel_id, body, message)
    return message
  }

  #delete(id: string): undefined {
    const message = this.#world.message(id)
    this.#world.messages.delete(id)
    this.#dispatch('MESSAGE_DELETE', this.#world.inGuild({ id, channel_id: message.channel_id }))
    this.#record('delete', message.channel_id, {}, undefined)
  }

  /** Types 4 (answer) and 5 (answer later). */
  #callback(token: string, body: { type: number; data?: MessageBody }, query: URLSearchParams) {
    const interaction = this.#interaction(token)
    if (interaction.replyId !== undefined)
      throw new DiscordApiError(400, 40060, 'Interaction has already been acknowledged.')
    const message =
      body.type === 4
        ? this.#post('reply', interaction.channelId, body.data ?? {})
        : this.#world.newMessage({
            channelId: interaction.channelId,
            author: this.#world.bot,
            content: '',
          })
    const { id } = message
    interaction.replyId = id
    if (query.get('with_response') !== 'true') return undefined
    return {
      interaction: { id: interaction.id, type: 2, response_message_id: id },
      resource: { type: body.type, message },
    }
  }

  #editReply(interaction: DiscordInteraction, body: MessageBody): object {
    checkContent(body)
    const message = this.#world.edit(interaction.replyId ?? '', body.content ?? '')
    this.#record('reply', interaction.channelId, body, message)
    return message
  }

  #interaction(token: string): DiscordInteraction {
    const interaction = this.interactions.get(token)
    if (interaction === undefined) throw new DiscordApiError(404, 10062, 'Unknown interaction')
    return interaction
  }

  #toCommand(command: object): object {
    const id = this.#world.newId()
    return { type: 1, version: id, ...command, id, application_id: this.#world.bot.id }
  }

  #record(kind: DiscordCall['kind'], channelId: string, body: unknown, result: unknown): void {
    const { content = '' } = body as MessageBody
    this.calls.add({ kind, channelId, content, body, result })
  }
}

function checkContent({ content, embeds, attachments }: MessageBody): void {
  if ((content ?? '') === '' && embeds === undefined && attachments === undefined)
    throw new DiscordApiError(400, 50006, 'Cannot send an empty message')
  if ((content ?? '').length > 2000) throw new DiscordApiError(400, 50035, 'Invalid Form Body')
}

/** With files, the JSON travels as one field of a form. */
function withoutForm(body: unknown): unknown {
  const { payload_json: json } = body as { payload_json?: string }
  return json === undefined ? body : JSON.parse(json)
}

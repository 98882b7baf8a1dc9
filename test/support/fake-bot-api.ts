import type { Update, UserFromGetMe } from 'grammy/types'
import { BotApiChats, BotApiError } from './bot-api-chats.ts'
import type { IncomingMessage, OutgoingMessage } from './bot-api-chats.ts'
import { Recorder } from './changes.ts'
import { startLocalServer, untilGone } from './local-server.ts'
import type { LocalRequest, LocalResponse, LocalServer } from './local-server.ts'
import { UpdateQueue } from './update-queue.ts'

/** A call the API accepted. */
export interface BotApiCall {
  method: string
  payload: Record<string, unknown>
  result: unknown
}

export interface BotApiFailure {
  status: number
  description: string
  /** Seconds. */
  retryAfter?: number
  /** How many calls fail; one by default. */
  times?: number
}

/** Starts a Telegram Bot API server on the loopback interface, with one bot and real long polling. */
export async function startFakeBotApi(
  options: { token?: string; username?: string } = {},
): Promise<FakeBotApi> {
  const fake = new FakeBotApi(options.token ?? '4242:fake-token', options.username ?? 'fake_bot')
  await fake.listen()
  return fake
}

export class FakeBotApi {
  readonly token: string
  readonly me: UserFromGetMe
  /** The calls that were refused, by `failNext` or because they were wrong. */
  readonly refused: { method: string; payload: Record<string, unknown>; status: number }[] = []
  readonly #chats: BotApiChats
  readonly #updates = new UpdateQueue()
  readonly #calls = new Recorder<BotApiCall>()
  readonly #failures = new Map<string, BotApiError[]>()
  readonly #held = new Set<string>()
  #server: LocalServer | undefined

  constructor(token: string, username: string) {
    this.token = token
    this.me = {
      id: 4242,
      is_bot: true,
      first_name: 'Fake Bot',
      username,
      can_join_groups: true,
      can_read_all_group_messages: true,
      supports_inline_queries: false,
    } as UserFromGetMe
    this.#chats = new BotApiChats(this.me)
  }

  async listen(): Promise<void> {
    this.#server = await startLocalServer((request) => this.#answer(request))
  }

  /** Without a trailing slash: the `apiRoot` of grammY and of Telegraf. */
  get apiRoot(): string {
    if (this.#server === undefined) throw new Error('the fake Bot API is not listening')
    return this.#server.origin
  }

  /** Every accepted call but getUpdates, oldest first. */
  get sent(): readonly BotApiCall[] {
    return this.#calls.items
  }

  /** A user writes; text that starts with a slash gets its `bot_command` entity. */
  pushMessage(incoming: IncomingMessage): Update {
    const message = this.#chats.receive(incoming)
    return this.pushUpdate(
      message.chat.type === 'channel'
        ? { channel_post: message as NonNullable<Update['channel_post']> }
        : { message: message as NonNullable<Update['message']> },
    )
  }

  /** The author edits a message that was pushed before. */
  pushEdit(chatId: number, messageId: number, text: string): Update {
    const message = this.#chats.edit(chatId, messageId, text)
    return this.pushUpdate({ edited_message: message as NonNullable<Update['edited_message']> })
  }

  pushUpdate(raw: Omit<Update, 'update_id'>): Update {
    if (raw.message !== undefined) this.#chats.adopt(raw.message)
    return this.#updates.push(raw)
  }

  redeliver(updateId: number): void {
    this.#updates.redeliver(updateId)
  }

  waitForAck(updateId: number, timeoutMs?: number): Promise<void> {
    return this.#updates.waitForAck(updateId, timeoutMs)
  }

  /** The oldest accepted call nobody asked for yet; by default the next sendMessage. */
  nextSent(
    matches: (call: BotApiCall) => boolean = (call) => call.method === 'sendMessage',
    timeoutMs?: number,
  ): Promise<BotApiCall> {
    return this.#calls.next(matches, timeoutMs, 'call to the Bot API')
  }

  failNext(method: string, failure: BotApiFailure): void {
    const error = new BotApiError(failure.status, failure.description, failure.retryAfter)
    const queued = this.#failures.get(method) ?? []
    this.#failures.set(method, [
      ...queued,
      ...Array.from({ length: failure.times ?? 1 }, () => error),
    ])
  }

  /** Carries out the next call of the method but never answers it: the moment between sending and knowing. */
  holdNext(method: string): void {
    this.#held.add(method)
  }

  async close(): Promise<void> {
    await this.#server?.close()
    this.#updates.acknowledgeAll()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #answer(request: LocalRequest): Promise<LocalResponse> {
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.path) ?? []
    const payload = decodeFields({
      ...Object.fromEntries(request.query),
      ...(request.body as object),
    })
    try {
      if (token === undefined) throw new BotApiError(404, 'Not Found')
      if (token !== this.token) throw new BotApiError(401, 'Unauthorized')
      const failure = this.#failures.get(method)?.shift()
      if (failure !== undefined) throw failure
      const result = await this.#call(method, payload, request.gone)
      if (method !== 'getUpdates') this.#calls.add({ method, payload, result })
      if (this.#held.delete(method)) await untilGone(request.gone)
      return { status: 200, body: { ok: true, result } }
    } catch (error) {
      if (!(error instanceof BotApiError)) throw error
      this.refused.push({ method, payload, status: error.status })
      return toResponse(error)
    }
  }

  async #call(method: string, payload: object, gone: AbortSignal): Promise<unknown> {
    const { chat_id: chatId, message_id: messageId, text } = payload as EditFields
    switch (method) {
      case 'getMe':
        return this.me
      case 'getUpdates': {
        const updates = await this.#updates.poll(payload, gone)
        if (updates !== undefined) return updates
        throw new BotApiError(409, 'Conflict: terminated by other getUpdates request')
      }
      case 'deleteWebhook':
        if ('drop_pending_updates' in payload && payload.drop_pending_updates === true)
          this.#updates.acknowledgeAll()
        return true
      // Recorded only: nothing is posted to the webhook.
      case 'setWebhook':
      case 'setMyCommands':
      case 'sendChatAction':
      case 'answerCallbackQuery':
        return true
      case 'sendMessage':
        return this.#chats.send(payload as OutgoingMessage)
      case 'editMessageText':
        return this.#chats.edit(chatId, messageId, text)
      case 'deleteMessage':
        return this.#chats.delete(chatId, messageId)
      default:
        throw new BotApiError(404, 'Not Found: method not found')
    }
  }
}

interface EditFields {
  chat_id: number
  message_id: number
  text: string
}

/** Forms and query strings carry numbers and objects as text; the API reads a field by its meaning. */
function decodeFields(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      name === 'text' || name === 'caption' || typeof value !== 'string' ? value : decode(value),
    ]),
  )
}

function decode(value: string): unknown {
  try {
    const decoded: unknown = JSON.parse(value)
    // A callback query id may be a number no double can hold: it stays text.
    return typeof decoded === 'number' && !Number.isSafeInteger(decoded) ? value : decoded
  } catch {
    return value
  }
}

function toResponse({ status, message, retryAfter }: BotApiError): LocalResponse {
  return {
    status,
    body: {
      ok: false,
      error_code: status,
      description: message,
      ...(retryAfter !== undefined && { parameters: { retry_after: retryAfter } }),
    },
  }
}

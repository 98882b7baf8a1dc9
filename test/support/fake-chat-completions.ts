import { setTimeout as sleep } from 'node:timers/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { PATIENCE_MS, Recorder } from './changes.ts'
import { startLocalServer } from './local-server.ts'
import type { LocalRequest, LocalResponse, LocalServer } from './local-server.ts'

export interface CompletionRequest {
  model: string
  messages: { role: string; content: string | null; [field: string]: unknown }[]
  [field: string]: unknown
}

export interface CompletionReply {
  content?: string | null
  usage?: { promptTokens: number; completionTokens: number; cachedTokens?: number }
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  delayMs?: number
  /** An error in OpenAI's shape instead, with `content` as its message. */
  status?: number
}

export interface RecordedCompletion {
  body: CompletionRequest
  headers: IncomingHttpHeaders
}

/** Starts an OpenAI-compatible endpoint on the loopback interface; without `reply` it echoes the last user message. */
export async function startFakeChatCompletions(
  options: { apiKey?: string } = {},
): Promise<FakeChatCompletions> {
  const fake = new FakeChatCompletions(options.apiKey)
  await fake.listen()
  return fake
}

export class FakeChatCompletions {
  /** Decides every answer from now on. */
  reply: (body: CompletionRequest) => CompletionReply = echo
  readonly #apiKey: string | undefined
  readonly #recorded = new Recorder<RecordedCompletion>()
  #server: LocalServer | undefined

  constructor(apiKey: string | undefined) {
    this.#apiKey = apiKey
  }

  async listen(): Promise<void> {
    this.#server = await startLocalServer((request) => this.#answer(request))
  }

  get baseUrl(): string {
    if (this.#server === undefined) throw new Error('the fake endpoint is not listening')
    return `${this.#server.origin}/v1`
  }

  get requests(): readonly RecordedCompletion[] {
    return this.#recorded.items
  }

  /** The oldest request nobody asked for yet. */
  nextRequest(timeoutMs: number = PATIENCE_MS): Promise<RecordedCompletion> {
    return this.#recorded.next(() => true, timeoutMs, 'chat-completions request')
  }

  async close(): Promise<void> {
    await this.#server?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #answer({ method, path, headers, body, gone }: LocalRequest): Promise<LocalResponse> {
    if (method !== 'POST' || path !== '/v1/chat/completions')
      return failure(404, `Unknown request URL: ${method} ${path}`)
    if (this.#apiKey !== undefined && headers.authorization !== `Bearer ${this.#apiKey}`)
      return failure(401, 'Incorrect API key provided')
    const request = body as CompletionRequest
    this.#recorded.add({ body: request, headers })
    if (typeof request.model !== 'string' || !Array.isArray(request.messages))
      return failure(400, 'model and messages are required')
    if (request['stream'] === true) return failure(400, 'streaming is not supported here')
    const reply = this.reply(request)
    // A client that hangs up (or `close`) ends the wait; nobody reads the answer then.
    await sleep(reply.delayMs ?? 0, undefined, { signal: gone }).catch(() => undefined)
    if (reply.status !== undefined) return failure(reply.status, reply.content ?? 'refused')
    return { status: 200, body: toCompletion(request, reply, this.requests.length) }
  }
}

function echo({ messages }: CompletionRequest): CompletionReply {
  return { content: `echo: ${messages.findLast(({ role }) => role === 'user')?.content ?? ''}` }
}

function toCompletion(request: CompletionRequest, reply: CompletionReply, n: number): object {
  const {
    promptTokens,
    completionTokens,
    cachedTokens = 0,
  } = reply.usage ?? { promptTokens: 10 * request.messages.length, completionTokens: 5 }
  return {
    id: `chatcmpl-${n}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.content ?? null,
          ...(reply.tool_calls && { tool_calls: reply.tool_calls }),
        },
        logprobs: null,
        finish_reason: reply.tool_calls ? 'tool_calls' : 'stop',
      },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  }
}

function failure(status: number, message: string): LocalResponse {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error'
  return { status, body: { error: { message, type, param: null, code: null } } }
}

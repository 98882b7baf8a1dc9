import type { ChatMessage, Usage } from '../../src/index.ts'

export interface Answer {
  readonly text: string
  readonly model: string
  readonly usage: Usage
  readonly finishReason?: string | undefined
}

/** Whatever answers; the history ends with the message to answer. */
export interface Responder {
  /** For the greeting: who is speaking. */
  readonly description: string
  answer(history: readonly ChatMessage[], signal: AbortSignal): Promise<Answer>
}

export interface ModelSettings {
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  readonly model: string
}

const MODEL_PATIENCE_MS = 120_000

/** Any endpoint that speaks OpenAI's chat completions. */
export function modelResponder({ baseUrl, apiKey, model }: ModelSettings): Responder {
  const url = `${baseUrl.replace(/\/+$/, '')}/chat/completions`
  return {
    description: `the model ${model} at ${baseUrl}`,
    async answer(history, signal) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify({ model, messages: history.map(toWire) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(MODEL_PATIENCE_MS)]),
      })
      const body = await response.text()
      if (!response.ok)
        throw new Error(`the model endpoint said ${response.status}: ${errorOf(body)}`)
      return toAnswer(parseCompletion(body), model)
    },
  }
}

/** Stands in where no model is configured: it shows what is remembered, and says that it is only that. */
export const demoResponder: Responder = {
  description: 'a built-in demo without a model (set OPENAI_BASE_URL to talk to one)',
  async answer(history) {
    const said = history.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
    const question = said.pop() ?? ''
    const lines = [
      `I am the demo responder, no model. Messages I remember here: ${history.length}.`,
    ]
    const first = said[0]
    if (first === undefined) lines.push('This is the first thing you have told me.')
    else lines.push(`You began with: "${excerpt(first)}"`)
    const related = said.slice(1).findLast((earlier) => shareWord(earlier, question))
    if (related !== undefined) lines.push(`That reminds me, you also said: "${excerpt(related)}"`)
    return { text: lines.join('\n'), model: 'demo', usage: {} }
  },
}

interface Completion {
  choices?: { message?: { content?: string | null }; finish_reason?: string }[]
  model?: string
  usage?: {
    prompt_tokens?: number
    completion_tokens?: number
    prompt_tokens_details?: { cached_tokens?: number }
    completion_tokens_details?: { reasoning_tokens?: number }
  }
}

function parseCompletion(body: string): Completion {
  try {
    return JSON.parse(body) as Completion
  } catch (error) {
    throw new Error('the model endpoint answered with something that is no JSON', { cause: error })
  }
}

function toAnswer({ choices, usage, model }: Completion, asked: string): Answer {
  const choice = choices?.[0]
  const text = choice?.message?.content
  if (!text) throw new Error('the model sent an empty answer')
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
  return {
    text,
    model: model ?? asked,
    finishReason: choice.finish_reason,
    usage: {
      // Hermes counts cached input apart; chat completions report it as a part of the prompt.
      inputTokens: (usage?.prompt_tokens ?? 0) - cached,
      cacheReadTokens: cached,
      outputTokens: usage?.completion_tokens ?? 0,
      reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens ?? 0,
    },
  }
}

/** The agent's own keys (reasoning, finish reasons) are unknown to most endpoints. */
function toWire({ role, content, tool_calls, tool_call_id }: ChatMessage): object {
  return { role, content, ...(tool_calls && { tool_calls }), ...(tool_call_id && { tool_call_id }) }
}

function errorOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: string } }
    return error?.message ?? body.slice(0, 200)
  } catch {
    return body.slice(0, 200)
  }
}

export function textOf(content: ChatMessage['content']): string {
  return typeof content === 'string' ? content : '(not text)'
}

export function excerpt(text: string, length = 80): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const characters = Array.from(line)
  return characters.length <= length ? line : `${characters.slice(0, length).join('')}…`
}

function shareWord(one: string, other: string): boolean {
  const words = new Set(longWords(one))
  return longWords(other).some((word) => words.has(word))
}

function longWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []
}

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

function parseCompletion(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    throw new Error('the model endpoint answered with something that is no JSON', { cause: error })
  }
}

/** Endpoints differ in everything but the text, so a wrong figure or name must not cost an answer. */
function toAnswer(completion: unknown, asked: string): Answer {
  const choice = at(completion, 'choices', 0)
  const text = at(choice, 'message', 'content')
  if (typeof text !== 'string' || text.trim() === '') throw new Error(whyEmpty(completion))
  const usage = at(completion, 'usage')
  const cached = countAt(usage, 'prompt_tokens_details', 'cached_tokens')
  return {
    text,
    model: stringAt(completion, 'model') ?? asked,
    finishReason: stringAt(choice, 'finish_reason'),
    usage: {
      // Hermes counts cached input apart; chat completions report it as a part of the prompt.
      inputTokens: Math.max(0, countAt(usage, 'prompt_tokens') - cached),
      cacheReadTokens: cached,
      outputTokens: countAt(usage, 'completion_tokens'),
      reasoningTokens: countAt(usage, 'completion_tokens_details', 'reasoning_tokens'),
    },
  }
}

function whyEmpty(completion: unknown): string {
  const error = stringAt(completion, 'error', 'message')
  if (error !== undefined) return `the model endpoint said: ${error}`
  const refusal = stringAt(completion, 'choices', 0, 'message', 'refusal')
  return refusal === undefined ? 'the model sent no text' : `the model refuses: ${refusal}`
}

/** The agent's own keys (reasoning, finish reasons) are unknown to most endpoints. */
function toWire({ role, content, tool_calls, tool_call_id }: ChatMessage): object {
  return { role, content, ...(tool_calls && { tool_calls }), ...(tool_call_id && { tool_call_id }) }
}

function errorOf(body: string): string {
  const said = body.slice(0, 200)
  try {
    return stringAt(JSON.parse(body), 'error', 'message') ?? said
  } catch {
    return said
  }
}

type Path = readonly (string | number)[]

function at(value: unknown, ...path: Path): unknown {
  let found = value
  for (const key of path)
    found = (found as Record<string | number, unknown> | null | undefined)?.[key]
  return found
}

function stringAt(value: unknown, ...path: Path): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

function countAt(value: unknown, ...path: Path): number {
  const found = Number(at(value, ...path))
  return Number.isSafeInteger(found) && found > 0 ? found : 0
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

import type { Message } from '../repositories/message-row.ts'
import { requireObject } from '../repositories/input.ts'
import { listOf } from './arguments.ts'
import { shownText } from './shown-text.ts'

/** A message as AI SDK's `UIMessage` has it. */
export interface UIMessage {
  id: string
  role: 'system' | 'user' | 'assistant'
  parts: UIPart[]
}

/** A part of a message as AI SDK has it. */
export type UIPart =
  | { type: 'step-start' }
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'file'; mediaType: string; url: string; filename?: string }
  | UIToolPart

/** Dynamic, because the tools are the agent's and no types of the application describe them. */
export type UIToolPart = {
  type: 'dynamic-tool'
  toolName: string
  toolCallId: string
  input: unknown
} & ({ state: 'input-available' } | { state: 'output-available'; output: unknown })

/**
 * Messages of the store, from `messages.list`, for AI SDK: an assistant's answer with all its steps,
 * tool calls and results is one message, whose id is that of its first. An input or a result that is
 * the JSON of an object or a list comes parsed. Messages of other roles are left out.
 * @throws {InvalidInputError} when they are no messages.
 */
export function toUIMessages(messages: readonly Message[]): UIMessage[] {
  const shown: UIMessage[] = []
  for (const [index, message] of listOf('messages', messages).entries()) {
    requireObject(`messages[${index}]`, message)
    const { role } = message
    if (role === 'user' || role === 'system') {
      shown.push({ id: String(message.id), role, parts: contentParts(message) })
    } else if (role === 'assistant') {
      answer(shown, message).parts.push(...stepParts(message))
    } else if (role === 'tool') {
      addResult(answer(shown, message).parts, message)
    }
  }
  return shown
}

/** The answer that is being given, or a new one. */
function answer(shown: UIMessage[], { id }: Message): UIMessage {
  const last = shown.at(-1)
  if (last?.role === 'assistant') return last
  const begun: UIMessage = { id: String(id), role: 'assistant', parts: [] }
  shown.push(begun)
  return begun
}

function stepParts(message: Message): UIPart[] {
  const reasoning = message.reasoning ?? message.reasoningContent
  return [
    { type: 'step-start' },
    ...(reasoning ? [{ type: 'reasoning' as const, text: reasoning }] : []),
    ...contentParts(message),
    ...callParts(message.toolCalls),
  ]
}

function contentParts({ role, content }: Message): UIPart[] {
  if (typeof content === 'string') {
    const text = role === 'system' ? content : shownText(content)
    return text === '' ? [] : [{ type: 'text', text }]
  }
  return Array.isArray(content) ? content.flatMap(contentPart) : []
}

function contentPart(part: unknown): UIPart[] {
  const { text, image_url: image, file } = recordOf(part)
  if (typeof text === 'string') return [{ type: 'text', text }]
  const { url = image } = recordOf(image)
  if (typeof url === 'string') return [{ type: 'file', mediaType: mediaTypeOf(url, 'image'), url }]
  const { file_data: data, filename } = recordOf(file)
  if (typeof data !== 'string') return []
  const mediaType = mediaTypeOf(data, 'application/octet-stream')
  const named = typeof filename === 'string' ? { filename } : {}
  return [{ type: 'file', mediaType, url: data, ...named }]
}

function callParts(toolCalls: unknown): UIToolPart[] {
  if (!Array.isArray(toolCalls)) return []
  return toolCalls.flatMap((call: unknown) => {
    const { id, function: called } = recordOf(call)
    const { name, arguments: given } = recordOf(called)
    if (typeof id !== 'string' || typeof name !== 'string') return []
    const input = typeof given === 'string' ? structured(given) : (given ?? {})
    const part = { type: 'dynamic-tool', toolName: name, toolCallId: id, input } as const
    return [{ ...part, state: 'input-available' as const }]
  })
}

function addResult(parts: UIPart[], { toolCallId, toolName, content }: Message): void {
  const output = typeof content === 'string' ? structured(content) : content
  const index = parts.findLastIndex(
    (part) => part.type === 'dynamic-tool' && part.toolCallId === toolCallId,
  )
  const call = parts[index]
  // A result whose call was cut off is shown all the same.
  const part: UIToolPart =
    call?.type === 'dynamic-tool'
      ? { ...call, state: 'output-available', output }
      : {
          type: 'dynamic-tool',
          toolName: toolName ?? 'unknown',
          toolCallId: toolCallId ?? '',
          input: {},
          state: 'output-available',
          output,
        }
  if (index < 0) parts.push(part)
  else parts[index] = part
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function mediaTypeOf(url: string, unknown: string): string {
  return /^data:([\w.+-]+\/[\w.+-]+)/.exec(url)?.[1] ?? unknown
}

/** The object or list that a text is the JSON of, else the text. */
function structured(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : text
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

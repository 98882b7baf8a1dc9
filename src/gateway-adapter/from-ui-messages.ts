import { requireObject } from '../repositories/input.ts'
import type { NewMessage } from '../repositories/message-row.ts'
import { listOf } from './arguments.ts'

/** AI SDK's `UIMessage`, as far as it is read here. */
export interface UIMessageInput {
  readonly role: string
  readonly parts: readonly object[]
}

type Part = Readonly<Record<string, unknown>>

/**
 * AI SDK messages as messages to append: each step of an answer is a message of the assistant, each
 * tool result one of the tool. What a chat-completions message has no place for (sources, data parts,
 * tool calls that are still being written) is left out.
 * @throws {InvalidInputError} when they are no messages.
 */
export function fromUIMessages(messages: readonly UIMessageInput[]): NewMessage[] {
  return listOf('messages', messages).flatMap((message, index) => {
    requireObject(`messages[${index}]`, message)
    const { role, parts } = message
    listOf(`messages[${index}].parts`, parts).forEach((part, at) =>
      requireObject(`messages[${index}].parts[${at}]`, part),
    )
    if (role === 'assistant') return stepsOf(parts as readonly Part[]).flatMap(fromStep)
    return [{ role, content: contentOf(parts as readonly Part[]) }]
  })
}

/** The parts between one step's start and the next; a message thrown in by the user is a step. */
function stepsOf(parts: readonly Part[]): Part[][] {
  const steps: Part[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else if (part['type'] === 'steering-message') steps.push([part], [])
    else steps.at(-1)?.push(part)
  }
  return steps
}

function fromStep(parts: readonly Part[]): NewMessage[] {
  const [first] = parts
  if (first?.['type'] === 'steering-message') {
    return [{ role: 'user', content: contentOf(first['parts'] as readonly Part[]) }]
  }
  const tools = parts.filter((part) => isTool(part) && part['state'] !== 'input-streaming')
  const content = contentOf(parts)
  const reasoning = parts
    .filter(({ type }) => type === 'reasoning')
    .map(({ text }) => text)
    .join('\n\n')
  if (content === '' && reasoning === '' && tools.length === 0) return []
  return [
    {
      role: 'assistant',
      content,
      reasoning: reasoning || null,
      toolCalls: tools.length > 0 ? tools.map(toToolCall) : null,
    },
    ...tools.flatMap(toResult),
  ]
}

/** Plain text where there is nothing else, else the parts of a chat-completions message. */
function contentOf(parts: readonly Part[]): unknown {
  const content = parts.flatMap((part): object[] => {
    const { type, text, url, mediaType, filename } = part
    if (type === 'text') return [{ type, text }]
    if (type !== 'file') return []
    if (/^image\b/.test(String(mediaType))) return [{ type: 'image_url', image_url: { url } }]
    return [{ type: 'file', file: { file_data: url, ...(filename !== undefined && { filename }) } }]
  })
  const [first] = content
  if (first === undefined) return ''
  return content.length === 1 && 'text' in first ? first.text : content
}

function isTool({ type }: Part): boolean {
  return type === 'dynamic-tool' || String(type).startsWith('tool-')
}

function nameOf({ type, toolName }: Part): string {
  return type === 'dynamic-tool' ? String(toolName) : String(type).slice('tool-'.length)
}

function toToolCall(part: Part): object {
  const { toolCallId, input = part['rawInput'] ?? {} } = part
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  return { id: toolCallId, type: 'function', function: { name: nameOf(part), arguments: text } }
}

function toResult(part: Part): NewMessage[] {
  const content = resultOf(part)
  if (content === undefined) return []
  return [{ role: 'tool', toolCallId: String(part['toolCallId']), toolName: nameOf(part), content }]
}

function resultOf({ state, output, errorText, approval }: Part): string | undefined {
  if (state === 'output-available') {
    return typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
  }
  if (state === 'output-error') return String(errorText)
  if (state !== 'output-denied') return undefined
  const { reason } = (approval ?? {}) as Part
  return typeof reason === 'string' ? reason : 'The tool call was denied.'
}

import type { Message, NewMessage } from '../repositories/message-row.ts'
import { encodeItem, type AgentItem } from './agent-item-codec.ts'
import { contentOf, textOf, toInputParts } from './agent-item-content.ts'
import { shownText } from './shown-text.ts'

/** What an item is in a chat; `none` is what a chat-completions message has no place for. */
type View = 'user' | 'system' | 'text' | 'reasoning' | 'call' | 'result' | 'none'

/**
 * The items in order, in groups that make one message each: what a model said at once is one message
 * of the assistant, because the results of its calls must follow right behind it. Items without a
 * place in a message go with the next one that has one, or else with the last.
 */
export function groupItems<Item extends AgentItem>(items: readonly Item[]): Item[][] {
  const groups: Item[][] = []
  let views = new Set<View>()
  let unseen: Item[] = []
  for (const item of items) {
    const view = viewOf(item)
    if (view === 'none') {
      unseen.push(item)
      continue
    }
    if (groups.length === 0 || !joins(view, views)) {
      groups.push([])
      views = new Set()
    }
    groups.at(-1)?.push(...unseen, item)
    views.add(view)
    unseen = []
  }
  if (unseen.length > 0) {
    if (groups.length === 0) groups.push([])
    groups.at(-1)?.push(...unseen)
  }
  return groups
}

/** The message Hermes sees for a group. */
export function toMessage(group: readonly AgentItem[]): NewMessage {
  const [seen] = group.filter((item) => viewOf(item) !== 'none')
  const view = seen ? viewOf(seen) : 'none'
  if (seen && (view === 'user' || view === 'system')) {
    return { role: view, content: contentOf(seen['content']) }
  }
  if (seen && view === 'result') {
    const toolName = typeof seen['name'] === 'string' ? seen['name'] : baseName(seen)
    const { output = restOf(seen) } = seen
    return { role: 'tool', toolCallId: callIdOf(seen), toolName, content: contentOf(output) }
  }
  const texts = group.filter((item) => viewOf(item) === 'text')
  const calls = group.filter((item) => viewOf(item) === 'call')
  const thoughts = group.filter((item) => viewOf(item) === 'reasoning').map(reasoningOf)
  return {
    role: 'assistant',
    content:
      texts.length === 1
        ? contentOf(texts[0]?.['content'])
        : texts.map((item) => textOf(item['content'])).join('\n\n'),
    toolCalls: calls.length > 0 ? calls.map(toToolCall) : null,
    reasoning: thoughts.filter(Boolean).join('\n\n') || null,
  }
}

/** The items for a message that Hermes, or anybody else, has written; none for a role of its own. */
export function toItems(message: Message): AgentItem[] {
  const { role, content } = message
  if (role === 'tool') {
    return [
      {
        type: 'function_call_result',
        callId: message.toolCallId ?? '',
        name: message.toolName ?? '',
        status: 'completed',
        output: { type: 'text', text: textOf(content) },
      },
    ]
  }
  if (role === 'system') return [{ type: 'message', role, content: textOf(content) }]
  if (role === 'user') {
    const isText = typeof content === 'string'
    return [{ type: 'message', role, content: isText ? shownText(content) : toInputParts(content) }]
  }
  if (role !== 'assistant') return []
  const text = shownText(textOf(content))
  return [...(text === '' ? [] : [outputMessage(text)]), ...toCalls(message.toolCalls)]
}

function joins(view: View, views: ReadonlySet<View>): boolean {
  const isAssistant = views.has('text') || views.has('reasoning') || views.has('call')
  if (view === 'text') return isAssistant && (!views.has('text') || views.has('call'))
  return isAssistant && (view === 'reasoning' || view === 'call')
}

function viewOf(item: AgentItem): View {
  const { type = 'message', role } = item
  if (type === 'message') {
    if (role === 'assistant') return 'text'
    return role === 'user' || role === 'system' ? role : 'none'
  }
  if (type === 'reasoning') return 'reasoning'
  if (callIdOf(item) === null || typeof type !== 'string') return 'none'
  return /_(?:result|output)$/.test(type) ? 'result' : 'call'
}

function callIdOf({ callId, call_id: wireId }: AgentItem): string | null {
  const id = callId ?? wireId
  return typeof id === 'string' && id !== '' ? id : null
}

/** `shell_call` and `shell_call_output` are of the tool `shell`. */
function baseName({ type }: AgentItem): string {
  return String(type).replace(/_call(?:_result|_output)?$|_output$/, '')
}

/** What a call says beyond its envelope. */
function restOf(item: AgentItem): object {
  const { type: _type, id: _id, callId: _callId, call_id: _wireId, ...rest } = item
  return rest
}

function toToolCall(item: AgentItem): object {
  const { name, arguments: given } = item
  return {
    id: callIdOf(item),
    type: 'function',
    function: {
      name: typeof name === 'string' ? name : baseName(item),
      arguments: typeof given === 'string' ? given : encodeItem(restOf(item), 'item'),
    },
  }
}

function toCalls(toolCalls: unknown): AgentItem[] {
  if (!Array.isArray(toolCalls)) return []
  return toolCalls.flatMap((call: AgentItem | null) => {
    const called = call?.['function'] as AgentItem | undefined
    if (typeof call?.['id'] !== 'string' || typeof called?.['name'] !== 'string') return []
    const { name, arguments: given = '{}' } = called
    return [
      {
        type: 'function_call',
        callId: call['id'],
        name,
        status: 'completed',
        arguments: typeof given === 'string' ? given : JSON.stringify(given),
      },
    ]
  })
}

function reasoningOf({ content, rawContent }: AgentItem): string {
  return textOf(content) || textOf(rawContent ?? '')
}

function outputMessage(text: string): AgentItem {
  const content = [{ type: 'output_text', text }]
  return { type: 'message', role: 'assistant', status: 'completed', content }
}

import type { ChatMessage } from '../repositories/conversation.ts'
import { requireObject } from '../repositories/input.ts'

/** What the wire format adds to each message. */
const PER_MESSAGE = 4

/**
 * A guess without a tokenizer: a token for four letters of Latin script, for one of any other. Pass a
 * real one where the budget is tight.
 */
export function estimateTokens(message: ChatMessage): number {
  requireObject('message', message)
  const { content, tool_calls: toolCalls } = message
  const said = typeof content === 'string' ? content : JSON.stringify(content ?? '')
  const text = toolCalls === undefined ? said : said + JSON.stringify(toolCalls)
  let quarters = 0
  for (let at = 0; at < text.length; at += 1) quarters += text.charCodeAt(at) < 0x250 ? 1 : 4
  return PER_MESSAGE + Math.ceil(quarters / 4)
}

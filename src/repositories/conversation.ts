import { sql, type Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { decodeContent, type MessageContent } from '../schema/content-codec.ts'
import type { Database } from '../schema/database.ts'
import type { JsonValue } from '../schema/python-json.ts'
import { pyStrip } from '../schema/python-text.ts'
import { flagOf, requireObject } from './input.ts'
import { ancestorIds } from './lineage-queries.ts'
import { scrubMemoryContext } from './memory-context.ts'
import { readInTurns } from './message-pages.ts'
import { parseOr, type MessageRow } from './message-row.ts'

/** A message as it goes to a model: the keys of a chat-completions request, and the agent's own. */
export interface ChatMessage {
  role: string
  content: MessageContent
  tool_call_id?: string
  tool_name?: string
  /** An empty list when what is stored is no JSON. */
  tool_calls?: JsonValue
  finish_reason?: string
  reasoning?: string
  /** Kept when empty: some providers need it. */
  reasoning_content?: string
  /** These three are null when what is stored is no JSON. */
  reasoning_details?: JsonValue
  codex_reasoning_items?: JsonValue
  codex_message_items?: JsonValue
}

/** Which sessions a conversation is read from. */
export interface ConversationOptions {
  /** Begins with the sessions this one came from; a question they repeat is given once. */
  includeAncestors?: boolean
}

/** What `toChatMessage` needs of a row. */
export const chatMessageColumns = [
  'role',
  'content',
  'tool_call_id',
  'tool_calls',
  'tool_name',
  'finish_reason',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'codex_reasoning_items',
  'codex_message_items',
] as const

type ReplayRow = Pick<MessageRow, (typeof chatMessageColumns)[number]>

const rowsOfSession = prepare<{ sessionId: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(chatMessageColumns)
    .where('session_id', '=', p.sessionId)
    .orderBy('id')
    .limit(p.limit),
)

// By id over all of them together: what a parent wrote after the child began stands where it was written.
const rowsOfSessions = prepare<{ sessionIds: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(chatMessageColumns)
    .where('session_id', 'in', sql<string>`(select value from json_each(${p.sessionIds}))`)
    .orderBy('id')
    .limit(p.limit),
)

const idsOfSessions = prepare<{ sessionIds: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('session_id', 'in', sql<string>`(select value from json_each(${p.sessionIds}))`)
    .orderBy('id'),
)

const rowsWithIds = prepare<{ ids: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(chatMessageColumns)
    .where('id', 'in', sql<number>`(select value from json_each(${p.ids}))`)
    .orderBy('id'),
)

/** Spec §12. Empty when there is no such session. */
export async function readConversation(
  db: Kysely<Database>,
  sessionId: string,
  options: ConversationOptions,
): Promise<ChatMessage[]> {
  requireObject('options', options)
  const withAncestors = flagOf('includeAncestors', options.includeAncestors, false)
  const sessionIds = JSON.stringify(withAncestors ? await ancestorIds(db, sessionId) : [sessionId])
  const messages = await readInTurns(db, -1, toChatMessage, {
    first: (on, limit) =>
      withAncestors
        ? rowsOfSessions.all(on, { sessionIds, limit })
        : rowsOfSession.all(on, { sessionId, limit }),
    ids: (on) => idsOfSessions.all(on, { sessionIds }),
    rows: (on, ids) => rowsWithIds.all(on, { ids }),
  })
  return withAncestors ? withoutRepeats(messages) : messages
}

/**
 * A compressed session hands its last question on to its continuation: the same text from the user
 * again, with no answer in between, is the same message.
 */
function withoutRepeats(messages: readonly ChatMessage[]): ChatMessage[] {
  const unanswered = new Set<string>()
  return messages.filter(({ role, content, tool_calls: toolCalls }) => {
    if (role === 'assistant' && (isSomething(content) || isSomething(toolCalls))) unanswered.clear()
    if (role !== 'user' || typeof content !== 'string' || content === '') return true
    if (unanswered.has(content)) return false
    unanswered.add(content)
    return true
  })
}

/** What Python finds true. */
function isSomething(value: MessageContent | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

export function toChatMessage(row: ReplayRow): ChatMessage {
  const message: ChatMessage = { role: row.role, content: replayedContent(row) }
  if (row.tool_call_id) message.tool_call_id = row.tool_call_id
  if (row.tool_name) message.tool_name = row.tool_name
  if (row.tool_calls) message.tool_calls = parseOr(row.tool_calls, [])
  if (row.role !== 'assistant') return message
  if (row.finish_reason) message.finish_reason = row.finish_reason
  if (row.reasoning) message.reasoning = row.reasoning
  if (row.reasoning_content !== null) message.reasoning_content = row.reasoning_content
  if (row.reasoning_details) message.reasoning_details = parseOr(row.reasoning_details, null)
  if (row.codex_reasoning_items) {
    message.codex_reasoning_items = parseOr(row.codex_reasoning_items, null)
  }
  if (row.codex_message_items) message.codex_message_items = parseOr(row.codex_message_items, null)
  return message
}

function replayedContent(row: ReplayRow): MessageContent {
  const content = decodeContent(row.content)
  if (typeof content !== 'string' || (row.role !== 'user' && row.role !== 'assistant')) {
    return content
  }
  return pyStrip(scrubMemoryContext(content))
}

import type { Selectable } from 'kysely'

import { InvalidInputError } from '../errors.ts'
import { decodeContent, encodeContent, type MessageContent } from '../schema/content-codec.ts'
import type { Database } from '../schema/database.ts'
import { encodeJsonColumn, parsePythonJson, type JsonValue } from '../schema/python-json.ts'
import { optionalText, requireObject, requireText } from './input.ts'
import { countToolCalls } from './tool-calls.ts'

/** A stored message (spec §11). */
export interface Message {
  /** Rises with each message of the file, whatever its session. */
  id: number
  sessionId: string
  /** `user`, `assistant`, `tool`, `system`, or whatever was stored. */
  role: string
  /** Text, structured parts, nothing or bytes; numbers and booleans come back as text (spec §6). */
  content: MessageContent
  toolCallId: string | null
  /** Null when there are none, an empty list when what is stored is no JSON, empty text as stored. */
  toolCalls: JsonValue
  toolName: string | null
  /** Seconds since the epoch. */
  timestamp: number
  /** As the writer counted them; null when it did not. */
  tokenCount: number | null
  finishReason: string | null
  reasoning: string | null
  reasoningContent: string | null
  /** JSON text as stored; `conversation()` gives it parsed. */
  reasoningDetails: string | null
  /** JSON text as stored. */
  codexReasoningItems: string | null
  /** JSON text as stored. */
  codexMessageItems: string | null
}

/** A message to be stored. `content` may be anything JSON can take, or bytes. */
export interface NewMessage {
  role: string
  content?: unknown
  toolName?: string | null
  /** A list counts its length, anything else but null counts 1 (spec §11). */
  toolCalls?: unknown
  toolCallId?: string | null
  tokenCount?: number | null
  finishReason?: string | null
  reasoning?: string | null
  reasoningContent?: string | null
  reasoningDetails?: unknown
  codexReasoningItems?: unknown
  codexMessageItems?: unknown
}

/** A message of `replaceAll`; `role` is `unknown` when left out. */
export type ReplacementMessage = Omit<NewMessage, 'role'> & { role?: string }

export const messageColumns = [
  'id',
  'session_id',
  'role',
  'content',
  'tool_call_id',
  'tool_calls',
  'tool_name',
  'timestamp',
  'token_count',
  'finish_reason',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'codex_reasoning_items',
  'codex_message_items',
] as const

export type MessageRow = Pick<Selectable<Database['messages']>, (typeof messageColumns)[number]>

/** The columns of a new message; its session and its time are the writer's to say. */
export interface EncodedMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id: string | null
  readonly tool_calls: string | null
  readonly tool_name: string | null
  readonly token_count: number | null
  readonly finish_reason: string | null
  readonly reasoning: string | null
  readonly reasoning_content: string | null
  readonly reasoning_details: string | null
  readonly codex_reasoning_items: string | null
  readonly codex_message_items: string | null
  /** What it adds to `tool_call_count`; no column. */
  readonly toolCallCount: number
  /** Whether its indexed text needs `dropNuls`; no column. */
  readonly hasNul: boolean
}

/**
 * `at` goes before the field names in errors, for a message that is one of many.
 * @throws {InvalidInputError} naming the field that cannot be stored.
 */
export function encodeMessage(message: NewMessage, at = ''): EncodedMessage {
  requireObject(at === '' ? 'message' : at.slice(0, -1), message)
  // Bytes stay a BLOB, whatever the column's declared type.
  const content = encodeContent(message.content) as string | null
  const toolName = optionalText(`${at}toolName`, message.toolName)
  return {
    role: requireText(`${at}role`, message.role),
    content,
    tool_call_id: optionalText(`${at}toolCallId`, message.toolCallId),
    tool_calls: encodeJsonColumn(message.toolCalls, `${at}toolCalls`),
    tool_name: toolName,
    token_count: wholeNumber(`${at}tokenCount`, message.tokenCount),
    finish_reason: optionalText(`${at}finishReason`, message.finishReason),
    reasoning: optionalText(`${at}reasoning`, message.reasoning),
    reasoning_content: optionalText(`${at}reasoningContent`, message.reasoningContent),
    reasoning_details: encodeJsonColumn(message.reasoningDetails, `${at}reasoningDetails`),
    codex_reasoning_items: encodeJsonColumn(
      message.codexReasoningItems,
      `${at}codexReasoningItems`,
    ),
    codex_message_items: encodeJsonColumn(message.codexMessageItems, `${at}codexMessageItems`),
    toolCallCount: countToolCalls(message.toolCalls),
    hasNul: hasNul(content) || hasNul(toolName),
  }
}

/** As `replaceAll` takes them: without a role it is `unknown`, and only an assistant has reasoning. */
export function encodeReplacement(message: ReplacementMessage, at: string): EncodedMessage {
  requireObject(at.slice(0, -1), message)
  const { role = 'unknown' } = message
  const encoded = encodeMessage({ ...message, role }, at)
  if (role === 'assistant') return encoded
  return {
    ...encoded,
    reasoning: null,
    reasoning_content: null,
    reasoning_details: null,
    codex_reasoning_items: null,
    codex_message_items: null,
  }
}

function hasNul(text: string | Uint8Array | null): boolean {
  return typeof text === 'string' ? text.includes('\0') : (text?.includes(0) ?? false)
}

export function toMessage(row: MessageRow): Message {
  return {
    id: row.id,
    sessionId: row.session_id,
    role: row.role,
    content: decodeContent(row.content),
    toolCallId: row.tool_call_id,
    toolCalls: row.tool_calls && parseOr(row.tool_calls, []),
    toolName: row.tool_name,
    timestamp: row.timestamp,
    tokenCount: row.token_count,
    finishReason: row.finish_reason,
    reasoning: row.reasoning,
    reasoningContent: row.reasoning_content,
    reasoningDetails: row.reasoning_details,
    codexReasoningItems: row.codex_reasoning_items,
    codexMessageItems: row.codex_message_items,
  }
}

/** The parsed value of a JSON column, or `broken` when it holds something else. */
export function parseOr<T>(json: string, broken: T): JsonValue | T {
  try {
    return parsePythonJson(json)
  } catch (error) {
    if (error instanceof SyntaxError) return broken
    throw error
  }
}

function wholeNumber(field: string, value: number | null | undefined): number | null {
  if (value === undefined || value === null) return null
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new InvalidInputError(field, 'must be a whole number from 0 up, or null')
  }
  return value
}

import { InvalidInputError } from '../errors.ts'
import { chatOf, type Chat } from './chat.ts'
import type { ChatId, ChatSourceInput } from './chat-source.ts'
import type { SessionClocks } from './reset-policy.ts'
import type { SessionKeyOptions } from './session-key.ts'

/** A line of Hermes' index that names a chat and the session it is in. */
export interface IndexedChat extends SessionClocks {
  readonly key: string
  readonly sessionId: string
  readonly chat: Chat
}

/**
 * `unreadable`: it is no entry. `ambiguous`: the key alone does not tell which chat is meant.
 * `unlike`: this gateway would file that chat under another key, because sessions are shared otherwise.
 * `suspended`: Hermes would begin a new session at the next message.
 */
export type IndexProblem = 'unreadable' | 'ambiguous' | 'unlike' | 'suspended'

export interface UnusableEntry {
  readonly key: string
  readonly sessionId: string | null
  readonly problem: IndexProblem
}

export interface IndexOptions extends SessionKeyOptions {
  /** The bot's own id by platform, as in the sources of its messages: Hermes' index knows one bot only. */
  readonly accounts?: Readonly<Record<string, ChatId>> | undefined
}

/**
 * The entries of a `sessions.json` (gateways.md §2.2).
 * @throws {InvalidInputError} when the text is no such index.
 */
export function readHermesIndex(
  text: string,
  options: IndexOptions,
): (IndexedChat | UnusableEntry)[] {
  const index = parsed(text)
  if (!isRecord(index)) throw new InvalidInputError('file', 'is no JSON object')
  return Object.entries(index).map(([key, entry]) => readEntry(key, entry, options))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new InvalidInputError('file', 'is not JSON')
    throw error
  }
}

function readEntry(
  key: string,
  entry: unknown,
  options: IndexOptions,
): IndexedChat | UnusableEntry {
  const sessionId = isRecord(entry) ? entry['session_id'] : undefined
  if (!isRecord(entry) || typeof sessionId !== 'string' || sessionId === '') {
    return { key, sessionId: null, problem: 'unreadable' }
  }
  const unusable = (problem: IndexProblem): UnusableEntry => ({ key, sessionId, problem })
  if (entry['suspended'] === true) return unusable('suspended')
  try {
    const source = sourceOf(key, entry)
    if (source === undefined) return unusable('ambiguous')
    const account = options.accounts?.[source.platform]
    const chat = chatOf({ ...source, account }, options)
    if (chat.key !== key || isSharedOtherwise(chat, entry, options)) return unusable('unlike')
    return { key, sessionId, chat, ...clocksOf(entry) }
  } catch (error) {
    if (error instanceof InvalidInputError) return unusable('unreadable')
    throw error
  }
}

/** A key without a person is that of a group whose members share the session, if its origin is not known. */
function isSharedOtherwise(
  { parts }: Chat,
  entry: Entry,
  { groupSessionsPerUser = true }: IndexOptions,
): boolean {
  const isGroup = parts.chatType === 'group' && parts.threadId === '' && parts.userId === ''
  return isGroup && groupSessionsPerUser && !isRecord(entry['origin'])
}

type Entry = Readonly<Record<string, unknown>>

function sourceOf(key: string, entry: Entry): ChatSourceInput | undefined {
  const { origin } = entry
  if (!isRecord(origin)) return sourceOfKey(key)
  return {
    platform: origin['platform'] as string,
    chatType: origin['chat_type'] as string,
    chatId: origin['chat_id'] as ChatId,
    threadId: origin['thread_id'] as ChatId,
    userId: origin['user_id'] as ChatId,
    userIdAlt: origin['user_id_alt'] as ChatId,
    userName: origin['user_name'] as string,
    chatName: origin['chat_name'] as string,
  }
}

/** Undefined when the key could be that of several chats: its parts are joined without escaping. */
function sourceOfKey(key: string): ChatSourceInput | undefined {
  const [agent, main, platform, chatType, ...ids] = key.split(':')
  if (agent !== 'agent' || main !== 'main' || !platform || !chatType) return undefined
  const [chatId, second, third] = ids
  const place = { platform, chatType, chatId }
  if (ids.length <= 1) return place
  if (!ids.every((id) => /^-?\d+$/.test(id))) return undefined
  if (chatType === 'dm') return ids.length === 2 ? { ...place, threadId: second } : undefined
  if (ids.length === 3) return { ...place, threadId: second, userId: third }
  // A thread of Discord is its own chat; elsewhere the second may be a topic or a person.
  return chatType === 'thread' && ids.length === 2 && second === chatId
    ? { ...place, threadId: second }
    : undefined
}

/** Hermes writes the local time of its host, without saying so. */
function clocksOf(entry: Entry): SessionClocks {
  const sessionStartedAt = secondsOf(entry['created_at'])
  const lastInteractionAt = secondsOf(entry['updated_at']) ?? sessionStartedAt ?? Date.now() / 1000
  return { sessionStartedAt: sessionStartedAt ?? lastInteractionAt, lastInteractionAt }
}

function secondsOf(time: unknown): number | undefined {
  const at = typeof time === 'string' ? Date.parse(time) / 1000 : Number.NaN
  return Number.isFinite(at) ? at : undefined
}

function isRecord(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

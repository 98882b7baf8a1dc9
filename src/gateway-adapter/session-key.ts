import { requireObject } from '../repositories/input.ts'
import { type ChatSourceInput, normalizeSource } from './chat-source.ts'

/** Who shares a session, as Hermes' `group_sessions_per_user` and `thread_sessions_per_user`. */
export interface SessionKeyOptions {
  /** Each member of a group has a session of their own. Default true. */
  readonly groupSessionsPerUser?: boolean
  /** The same inside threads and topics; without effect when `groupSessionsPerUser` is off. Default false. */
  readonly threadSessionsPerUser?: boolean
  /** Other ids of the same WhatsApp account, as Hermes keeps them in its `lid-mapping` files. */
  readonly expandWhatsAppAlias?: (id: string) => readonly string[]
}

/** What identifies a conversation. Absent parts are '', so that a unique index over all six holds. */
export interface RouteParts {
  readonly platform: string
  readonly account: string
  readonly chatType: string
  readonly chatId: string
  readonly threadId: string
  /** '' when everybody in the chat or thread shares the session, and in direct messages. */
  readonly userId: string
}

/**
 * The conversation a message belongs to, in parts that never collide: unlike the key they tell topic 42 from user 42,
 * one bot from another, and a ':' in an id from a separator.
 *
 * @throws {InvalidInputError} when the source is invalid.
 */
export function routeParts(input: ChatSourceInput, options: SessionKeyOptions = {}): RouteParts {
  const source = normalizeSource(input)
  requireObject('options', options)
  const isDm = source.chatType === 'dm'
  const canonical = (id = ''): string =>
    source.platform === 'whatsapp' ? canonicalWhatsAppId(id, options.expandWhatsAppAlias) : id
  const { groupSessionsPerUser = true, threadSessionsPerUser = false } = options
  const isPerUser = isDm
    ? // Two people's direct messages must not meet only because the platform names no chat.
      source.chatId === undefined
    : groupSessionsPerUser && (source.threadId === undefined || threadSessionsPerUser)
  return {
    platform: source.platform,
    account: source.account ?? '',
    chatType: source.chatType,
    chatId: isDm ? canonical(source.chatId) : (source.chatId ?? ''),
    threadId: source.threadId ?? '',
    userId: isPerUser ? canonical(source.userIdAlt ?? source.userId) : '',
  }
}

/**
 * Hermes' own key string of the conversation (gateways.md §2.1). It is not injective: route by `routeParts`.
 *
 * @throws {InvalidInputError} when the source is invalid.
 */
export function sessionKey(input: ChatSourceInput, options: SessionKeyOptions = {}): string {
  const { platform, chatType, chatId, threadId, userId } = routeParts(input, options)
  const parts = [chatId, threadId, chatType === 'dm' ? '' : userId].filter((part) => part !== '')
  return ['agent', 'main', platform, chatType, ...parts].join(':')
}

/**
 * Whether several people may write into the session, so that each text must say who wrote it.
 *
 * @throws {InvalidInputError} when the source is invalid.
 */
export function isSharedSession(input: ChatSourceInput, options: SessionKeyOptions = {}): boolean {
  const { chatType, userId } = routeParts(input, options)
  return chatType !== 'dm' && userId === ''
}

/** One id for all the ways WhatsApp writes an account: the shortest alias, then the smallest. '' stays ''. */
export function canonicalWhatsAppId(
  id: string,
  expand: (id: string) => readonly string[] = () => [],
): string {
  const bare = bareWhatsAppId(id)
  // Nothing but decoration: the id as it came keeps two such accounts apart.
  if (bare === '') return id
  const aliases = [bare, ...expand(bare).map(bareWhatsAppId)].filter((alias) => alias !== '')
  return aliases.reduce((best, alias) =>
    alias.length < best.length || (alias.length === best.length && alias < best) ? alias : best,
  )
}

/** `+49151:12@s.whatsapp.net` without the plus sign, the device number and the server. */
function bareWhatsAppId(id: string): string {
  return id
    .trim()
    .replace('+', '')
    .replace(/[:@][^]*$/, '')
}

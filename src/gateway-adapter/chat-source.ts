import { InvalidInputError } from '../errors.ts'

/** What kind of chat it is; a platform may have others, which count as shared by several. */
export type ChatType = 'dm' | 'group' | 'channel' | 'thread' | (string & Record<never, never>)

/** Where a chat message was written and by whom, the same for every platform. Ids are text: Discord's exceed 2^53. */
export interface ChatSource {
  readonly platform: string
  /** The bot's own id or user name; keeps several bots in one chat apart. */
  readonly account?: string
  readonly chatType: ChatType
  readonly chatId?: string
  readonly threadId?: string
  /** The channel a thread hangs under. */
  readonly parentChatId?: string
  readonly guildId?: string
  readonly userId?: string
  /** A steadier id of the same person, preferred over `userId` in keys (Signal's UUID). */
  readonly userIdAlt?: string
  readonly userName?: string
  readonly chatName?: string
  readonly messageId?: string
  readonly isBot?: boolean
}

/** An id as the platforms hand it out; numbers beyond 2^53 have lost digits and are refused. */
export type ChatId = string | number | bigint | null | undefined

const idFields = [
  'account',
  'chatId',
  'threadId',
  'parentChatId',
  'guildId',
  'userId',
  'userIdAlt',
  'messageId',
] as const
const nameFields = ['userName', 'chatName'] as const

/** What callers may pass as a `ChatSource`: numeric ids and null are accepted as the platforms hand them out. */
export type ChatSourceInput = {
  readonly platform: string
  readonly chatType: ChatType
  readonly isBot?: boolean | null | undefined
} & { readonly [field in (typeof idFields)[number]]?: ChatId } & {
  readonly [field in (typeof nameFields)[number]]?: string | null | undefined
}

/**
 * The frozen canonical form: ids as text, empty and null fields absent, unknown fields dropped.
 *
 * @throws {InvalidInputError} for a missing platform or chat type, a field of the wrong type, or a number that has
 * already lost digits.
 */
export function normalizeSource(input: ChatSourceInput): ChatSource {
  if (typeof input !== 'object' || input === null) {
    throw new InvalidInputError('source', 'must be an object')
  }
  const source: { -readonly [field in keyof ChatSource]: ChatSource[field] } = {
    platform: requiredText('source.platform', input.platform),
    chatType: requiredText('source.chatType', input.chatType),
  }
  for (const field of idFields) {
    const id = idText(`source.${field}`, input[field])
    if (id !== undefined) source[field] = id
  }
  for (const field of nameFields) {
    const name = optionalText(`source.${field}`, input[field])
    if (name !== undefined) source[field] = name
  }
  if (input.isBot !== undefined && input.isBot !== null) {
    if (typeof input.isBot !== 'boolean') {
      throw new InvalidInputError('source.isBot', 'must be a boolean')
    }
    source.isBot = input.isBot
  }
  return Object.freeze(source)
}

/**
 * An id as text, or undefined for null and the empty string.
 *
 * @throws {InvalidInputError} when it is no id, or a number beyond 2^53 whose digits are already wrong.
 */
export function idText(field: string, id: ChatId): string | undefined {
  if (typeof id === 'bigint') return String(id)
  if (typeof id !== 'number') return optionalText(field, id)
  if (!Number.isSafeInteger(id)) {
    throw new InvalidInputError(
      field,
      `is the number ${id}, which cannot hold an id exactly; pass it as text`,
    )
  }
  return String(id)
}

function requiredText(field: string, value: string): string {
  const text = optionalText(field, value)
  if (text === undefined || text.trim() === '')
    throw new InvalidInputError(field, 'must not be empty')
  return text
}

function optionalText(field: string, value: string | null | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw new InvalidInputError(field, 'must be text')
  // SQLite stores UTF-8: two ids that differ only in a lone surrogate would become equal there, so they do here.
  return value.toWellFormed()
}

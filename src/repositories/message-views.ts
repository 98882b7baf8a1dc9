import { sql, type Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { requireObject, textsOf } from './input.ts'
import { pageOfMessages } from './message-pages.ts'
import { messageColumns, toMessage, type Message } from './message-row.ts'

/** How much `messages.around` shows. */
export interface AroundOptions {
  /** How many messages on each side; 5 by default, a negative number counts as 0. */
  window?: number
}

/** What `messages.anchored` shows besides. */
export interface AnchoredOptions extends AroundOptions {
  /** How many messages from each end of the session; 3 by default, a negative number counts as 0. */
  bookend?: number
  /** Roles that are shown, user and assistant by default; null for all. */
  keepRoles?: readonly string[] | null
}

/** A message and its neighbours, and how many of each there are (spec §11). */
export interface MessageWindow {
  /** Ascending; empty when the message is not in that session. */
  window: Message[]
  /** Fewer than asked for means that the session ends there. */
  messagesBefore: number
  /** The same towards the end. */
  messagesAfter: number
}

/** The counts are those before roles were filtered. */
export interface AnchoredView extends MessageWindow {
  /** The first and last messages outside of the window that have text. */
  bookendStart: Message[]
  /** The last ones, ascending. */
  bookendEnd: Message[]
}

interface Edge {
  sessionId: string
  messageId: number
  limit: number
}

// As `pageOfMessages`, backwards.
const upTo = prepare<Edge>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('session_id', '=', p.sessionId)
        .where('id', '<=', p.messageId)
        .orderBy('id', 'desc')
        .limit(p.limit),
    )
    .orderBy('id'),
)

interface Bookend extends Edge {
  roles: string | null
}

const firstBefore = prepare<Bookend>()((db, p) =>
  prose(db, p).where('id', '<', p.messageId).orderBy('id'),
)
const lastAfter = prepare<Bookend>()((db, p) =>
  prose(db, p).where('id', '>', p.messageId).orderBy('id', 'desc'),
)

/** `length` stops at NUL, so structured content counts as empty here (spec §11). */
function prose(db: Kysely<Database>, p: Bookend) {
  return db
    .selectFrom('messages')
    .select(messageColumns)
    .where('session_id', '=', p.sessionId)
    .where(sql<boolean>`(${p.roles} is null or role in (select value from json_each(${p.roles})))`)
    .where(sql<boolean>`length(content) > 0`)
    .limit(p.limit)
}

/** The message and its neighbours in its session (spec §11). */
export async function readAround(
  db: Kysely<Database>,
  sessionId: string,
  messageId: number,
  options: AroundOptions,
): Promise<MessageWindow> {
  requireObject('options', options)
  const window = sizeOf('window', options.window, 5)
  if (!Number.isSafeInteger(messageId)) {
    throw new InvalidInputError('messageId', 'must be a whole number')
  }
  const before = await upTo.all(db, { sessionId, messageId, limit: window + 1 })
  if (before.at(-1)?.id !== messageId) return { window: [], messagesBefore: 0, messagesAfter: 0 }
  const following = await pageOfMessages.all(db, { sessionId, afterId: messageId, limit: window })
  return {
    window: [...before, ...following].map(toMessage),
    messagesBefore: before.length - 1,
    messagesAfter: following.length,
  }
}

/** The same, filtered by role, with the first and last words of the session (spec §11). */
export async function readAnchored(
  db: Kysely<Database>,
  sessionId: string,
  messageId: number,
  options: AnchoredOptions,
): Promise<AnchoredView> {
  requireObject('options', options)
  const limit = sizeOf('bookend', options.bookend, 3)
  const keepRoles = rolesOf(options.keepRoles)
  const around = await readAround(db, sessionId, messageId, options)
  const [first, last] = [around.window[0], around.window.at(-1)]
  if (!first || !last) return { ...around, bookendStart: [], bookendEnd: [] }
  const roles = keepRoles && JSON.stringify(keepRoles)
  const start = await firstBefore.all(db, { sessionId, roles, limit, messageId: first.id })
  const end = await lastAfter.all(db, { sessionId, roles, limit, messageId: last.id })
  return {
    ...around,
    window: around.window.filter(
      ({ id, role }) => id === messageId || !keepRoles || keepRoles.includes(role),
    ),
    bookendStart: start.map(toMessage),
    bookendEnd: end.toReversed().map(toMessage),
  }
}

function rolesOf(roles: AnchoredOptions['keepRoles']): string[] | null {
  if (roles === null) return null
  return roles === undefined ? ['user', 'assistant'] : textsOf('keepRoles', roles)
}

function sizeOf(field: string, value: number | undefined, absent: number): number {
  const size = value ?? absent
  if (!Number.isSafeInteger(size)) throw new InvalidInputError(field, 'must be a whole number')
  return Math.max(0, size)
}

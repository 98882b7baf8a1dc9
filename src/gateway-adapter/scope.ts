import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'

import { InvalidInputError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { optionsOf } from './arguments.ts'
import type { Chat } from './chat.ts'
import { homeChatId } from './chat-aliases.ts'

/**
 * Whose sessions may be found. `lane`: those this conversation is or was in. `user`: also the private
 * ones of whoever is asking, with the same bot; show them only where nobody else reads along. `all`:
 * every session of the file, for its operator.
 */
export type Scope = 'lane' | 'user' | 'all'

/** Whose sessions are meant. */
export interface InScope {
  readonly scope: Scope
}

/** Whose sessions are meant, and how many are listed. */
export interface Listing extends InScope {
  /** At most so many; -1 for all. */
  readonly limit: number
}

/** @throws {InvalidInputError} for any other, and for none: there is no default. */
export function scopeOf(options: InScope): Scope {
  const { scope } = optionsOf('options', options)
  if (scope === 'lane' || scope === 'user' || scope === 'all') return scope
  throw new InvalidInputError('scope', `must be 'lane', 'user' or 'all'`)
}

/** A condition on `sessions.id`. */
export function inScope(chat: Chat, scope: Scope): RawBuilder<SqlBool> {
  if (scope === 'all') return sql`true`
  // '' is nobody, and the owner of everything that is shared.
  if (scope === 'lane' || chat.personId === '') return ofLane(chat)
  return sql`(${ofLane(chat)} or ${ofPerson(chat)})`
}

/** The sessions a search may look into; undefined for all. */
export async function sessionIdsInScope(
  db: Kysely<Database>,
  chat: Chat,
  scope: Scope,
): Promise<string[] | undefined> {
  const condition = inScope(chat, scope)
  if (scope === 'all') return undefined
  const rows = await db
    .selectFrom('sessions')
    .select('id')
    .where(condition)
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Whether the conversation is or was in that session. */
export async function isOfLane(
  db: Kysely<Database>,
  chat: Chat,
  sessionId: string,
): Promise<boolean> {
  const found = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', sessionId)
    .where(ofLane(chat))
    .executeTakeFirst()
  return found !== undefined
}

function ofLane({ parts }: Chat): RawBuilder<SqlBool> {
  return sql`sessions.id in (
    select link.session_id from store_route_sessions as link
    join store_chat_routes as route on route.id = link.route_id
    where route.platform = ${parts.platform} and route.account = ${parts.account}
      and route.chat_type = ${parts.chatType} and route.chat_id = ${homeChatId(parts)}
      and route.thread_id = ${parts.threadId} and route.user_id = ${parts.userId})`
}

/** Also what Hermes' own gateway kept for that person and no chat of ours was ever in. */
function ofPerson({ parts, personId }: Chat): RawBuilder<SqlBool> {
  return sql`(sessions.id in (
    select link.session_id from store_route_sessions as link
    join store_chat_routes as route on route.id = link.route_id
    where route.platform = ${parts.platform} and route.account = ${parts.account}
      and route.owner_id = ${personId})
  or (sessions.source = ${parts.platform} and sessions.user_id = ${personId}
    and not exists (
      select 1 from store_route_sessions as link where link.session_id = sessions.id)))`
}

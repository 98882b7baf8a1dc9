import type { Kysely, Selectable } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { firstWords, lastActive } from './session-activity.ts'
import { summaryColumns } from './session-row.ts'

export type BindingRow = Selectable<Database['telegram_dm_topic_bindings']>

export const enabledFor = prepare<{ chatId: string; userId: string }>()((db, p) =>
  db
    .selectFrom('telegram_dm_topic_mode')
    .select('chat_id')
    .where('chat_id', '=', p.chatId)
    .where('user_id', '=', p.userId)
    .where('enabled', '!=', 0),
)

export const bindingOfTopic = prepare<{ chatId: string; threadId: string }>()((db, p) =>
  bindings(db).where('chat_id', '=', p.chatId).where('thread_id', '=', p.threadId),
)

export const bindingOfSession = prepare<{ sessionId: string }>()((db, p) =>
  bindings(db).where('session_id', '=', p.sessionId),
)

export const bindingsOfChat = prepare<{ chatId: string }>()((db, p) =>
  bindings(db).where('chat_id', '=', p.chatId).orderBy('updated_at', 'desc'),
)

interface UserParams {
  userId: string
  limit: number
}

export const sessionsOfUser = prepare<UserParams>()(telegramSessions)

export const unlinkedSessionsOfUser = prepare<UserParams>()((db, p) =>
  telegramSessions(db, p).where((eb) => {
    const bound = eb
      .selectFrom('telegram_dm_topic_bindings as binding')
      .select('binding.session_id')
      .whereRef('binding.session_id', '=', 'sessions.id')
    return eb.not(eb.exists(bound))
  }),
)

function bindings(db: Kysely<Database>) {
  return db
    .selectFrom('telegram_dm_topic_bindings')
    .select([
      'chat_id',
      'thread_id',
      'user_id',
      'session_key',
      'session_id',
      'managed_mode',
      'linked_at',
      'updated_at',
    ])
}

function telegramSessions(db: Kysely<Database>, p: UserParams) {
  return db
    .selectFrom('sessions')
    .select(summaryColumns)
    .select((eb) => [
      lastActive({ id: eb.ref('sessions.id'), startedAt: eb.ref('sessions.started_at') }).as(
        'last_active',
      ),
      firstWords(eb.ref('sessions.id')).as('words'),
    ])
    .where('source', '=', 'telegram')
    .where('user_id', '=', p.userId)
    .orderBy('last_active', 'desc')
    .orderBy('started_at', 'desc')
    .limit(p.limit)
}

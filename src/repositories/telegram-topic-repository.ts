import type { Handle } from '../database/handle.ts'
import {
  ConstraintError,
  DatabaseError,
  InvalidInputError,
  SessionBoundError,
  SessionNotFoundError,
} from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import { flagOf, limitOf, lookupText, requireObject, requireText } from './input.ts'
import { toPreview } from './session-activity.ts'
import type { SessionListEntry } from './session-list.ts'
import { toSummary } from './session-row.ts'
import {
  bindingOfSession,
  bindingOfTopic,
  bindingsOfChat,
  enabledFor,
  sessionsOfUser,
  unlinkedSessionsOfUser,
  type BindingRow,
} from './telegram-topic-queries.ts'
import { createTopicTables, hasTopicTables } from './telegram-topic-tables.ts'

/** A chat in which each topic is a conversation of its own. Ids are text: they may exceed 53 bits. */
export interface TopicMode {
  readonly chatId: string
  readonly userId: string
  /** What Telegram said of the bot; null, and so when left out, when it was not asked. */
  readonly hasTopicsEnabled?: boolean | null
  readonly allowsUsersToCreateTopics?: boolean | null
}

/** A topic and the session that it is to carry on (spec §16). */
export interface NewTopicBinding {
  readonly chatId: string
  readonly threadId: string
  readonly userId: string
  /** The agent's key of that chat and topic. */
  readonly sessionKey: string
  readonly sessionId: string
  /** `auto` when left out. */
  readonly managedMode?: string
}

/** The session that a topic carries on. Times are seconds since the epoch. */
export interface TopicBinding extends Required<NewTopicBinding> {
  readonly linkedAt: number
  readonly updatedAt: number
}

/**
 * Topics of a Telegram direct chat and their sessions (spec §16). The tables are made at the first
 * `enable` or `bind`; until then there is nothing in them.
 */
export class TelegramTopicRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  async ensureTables(): Promise<void> {
    if (await hasTopicTables(this.#db.read)) return
    await this.#db.write(createTopicTables)
  }

  async enable(mode: TopicMode): Promise<void> {
    requireObject('mode', mode)
    const chatId = requireText('chatId', mode.chatId)
    const now = nowSeconds()
    const facts = {
      user_id: requireText('userId', mode.userId),
      enabled: 1,
      updated_at: now,
      has_topics_enabled: capabilityOf('hasTopicsEnabled', mode.hasTopicsEnabled),
      allows_users_to_create_topics: capabilityOf(
        'allowsUsersToCreateTopics',
        mode.allowsUsersToCreateTopics,
      ),
      capability_checked_at: now,
    }
    await this.#db.write(async (trx) => {
      if (!(await hasTopicTables(trx))) await createTopicTables(trx)
      await trx
        .insertInto('telegram_dm_topic_mode')
        .values({ chat_id: chatId, activated_at: now, ...facts })
        .onConflict((conflict) => conflict.column('chat_id').doUpdateSet(facts))
        .execute()
    })
  }

  /** Also forgets the chat's bindings, unless told not to. */
  async disable(chatId: string, options: { clearBindings?: boolean } = {}): Promise<void> {
    const chat = requireText('chatId', chatId)
    requireObject('options', options)
    const clears = flagOf('clearBindings', options.clearBindings, true)
    await orWithoutTables(undefined, () =>
      this.#db.write(async (trx) => {
        await trx
          .updateTable('telegram_dm_topic_mode')
          .set({ enabled: 0, updated_at: nowSeconds() })
          .where('chat_id', '=', chat)
          .execute()
        if (!clears) return
        await trx.deleteFrom('telegram_dm_topic_bindings').where('chat_id', '=', chat).execute()
      }),
    )
  }

  /** Only for the user who turned it on. */
  async isEnabled(chatId: string, userId: string): Promise<boolean> {
    const ids = { chatId: lookupText('chatId', chatId), userId: lookupText('userId', userId) }
    const row = await orWithoutTables(undefined, () => enabledFor.first(this.#db.read, ids))
    return row !== undefined
  }

  /**
   * Makes the topic carry on the session, in place of the one it carried on before.
   * @throws {SessionBoundError} when another topic has the session.
   * @throws {SessionNotFoundError}
   */
  async bind(binding: NewTopicBinding): Promise<void> {
    requireObject('binding', binding)
    const now = nowSeconds()
    const place = {
      chat_id: requireText('chatId', binding.chatId),
      thread_id: requireText('threadId', binding.threadId),
    }
    const target = {
      user_id: requireText('userId', binding.userId),
      session_key: requireText('sessionKey', binding.sessionKey),
      session_id: requireText('sessionId', binding.sessionId),
      managed_mode: requireText('managedMode', binding.managedMode ?? 'auto'),
      updated_at: now,
    }
    await this.#db.write(async (trx) => {
      if (!(await hasTopicTables(trx))) await createTopicTables(trx)
      const held = await bindingOfSession.first(trx, { sessionId: target.session_id })
      if (held && (held.chat_id !== place.chat_id || held.thread_id !== place.thread_id)) {
        throw new SessionBoundError(target.session_id, held.chat_id, held.thread_id)
      }
      try {
        await trx
          .insertInto('telegram_dm_topic_bindings')
          .values({ ...place, ...target, linked_at: now })
          .onConflict((conflict) => conflict.columns(['chat_id', 'thread_id']).doUpdateSet(target))
          .execute()
      } catch (error) {
        if (!isForeignKeyError(error)) throw error
        throw new SessionNotFoundError(target.session_id, { cause: error })
      }
    })
  }

  async binding(chatId: string, threadId: string): Promise<TopicBinding | undefined> {
    const place = {
      chatId: lookupText('chatId', chatId),
      threadId: lookupText('threadId', threadId),
    }
    const row = await orWithoutTables(undefined, () => bindingOfTopic.first(this.#db.read, place))
    return row && toBinding(row)
  }

  async bindingBySession(sessionId: string): Promise<TopicBinding | undefined> {
    const id = lookupText('sessionId', sessionId)
    const row = await orWithoutTables(undefined, () =>
      bindingOfSession.first(this.#db.read, { sessionId: id }),
    )
    return row && toBinding(row)
  }

  /** The one changed last in front. */
  async listBindings(chatId: string): Promise<TopicBinding[]> {
    const id = lookupText('chatId', chatId)
    const rows = await orWithoutTables([], () => bindingsOfChat.all(this.#db.read, { chatId: id }))
    return rows.map(toBinding)
  }

  async isLinked(sessionId: string): Promise<boolean> {
    return (await this.bindingBySession(sessionId)) !== undefined
  }

  /** The user's Telegram sessions that no topic carries on, the one written to last in front. */
  async listUnlinkedSessions(options: {
    userId: string
    limit?: number
  }): Promise<SessionListEntry[]> {
    requireObject('options', options)
    const params = {
      userId: lookupText('userId', options.userId),
      limit: limitOf('limit', options.limit, 10),
    }
    const rows = await orWithoutTables(undefined, () =>
      unlinkedSessionsOfUser.all(this.#db.read, params),
    )
    const entries = rows ?? (await sessionsOfUser.all(this.#db.read, params))
    return entries.map(({ words, last_active, ...row }) => ({
      ...toSummary(row),
      preview: toPreview(words),
      lastActive: last_active,
    }))
  }
}

/** What `query` says, or `absent` when topics were never used in this file. */
async function orWithoutTables<T>(absent: T, query: () => Promise<T>): Promise<T> {
  try {
    return await query()
  } catch (error) {
    const isAbsent =
      error instanceof DatabaseError &&
      error.message.startsWith('no such table: telegram_dm_topic_')
    if (!isAbsent) throw error
    return absent
  }
}

function isForeignKeyError(error: unknown): boolean {
  return error instanceof ConstraintError && error.sqliteCode === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

function toBinding(row: BindingRow): TopicBinding {
  return {
    chatId: row.chat_id,
    threadId: row.thread_id,
    userId: row.user_id,
    sessionKey: row.session_key,
    sessionId: row.session_id,
    managedMode: row.managed_mode,
    linkedAt: row.linked_at,
    updatedAt: row.updated_at,
  }
}

function capabilityOf(field: string, value: boolean | null | undefined): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'boolean') throw new InvalidInputError(field, 'must be true, false or null')
  return value ? 1 : 0
}

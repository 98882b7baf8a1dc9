import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { ConstraintError, SessionNotFoundError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import { codePointLength } from '../schema/python-text.ts'
import { beginsWith } from './begins-with.ts'
import { lookupText, optionalText, requireObject } from './input.ts'
import {
  insertSession,
  toNewSessionRow,
  type NewSession,
  type NewSessionRow,
} from './new-session.ts'
import { listSessions, type SessionListOptions, type SessionListEntry } from './session-list.ts'
import { recentSessions, type RecentSessionsOptions, type RecentSession } from './session-recent.ts'
import {
  deleteSession,
  finalizeOrphanedCompressions,
  pruneGhosts,
  pruneSessions,
  type DeleteOptions,
  type PruneOptions,
} from './session-removal.ts'
import { sessionColumns, toSession, type Session } from './session-row.ts'
import { addUsage, setUsage, toUsageRow, type Usage } from './session-usage.ts'

export class SessionRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /**
   * Returns the id; a session that has it already is left entirely alone (spec §7).
   * @throws {SessionNotFoundError} when the parent is unknown.
   */
  async create(session: NewSession): Promise<string> {
    const row = toNewSessionRow(session)
    const created = await this.#insert(row)
    // Two chats must not share a session because their random ids met.
    if (!created && session.id === undefined) return this.create(session)
    return row.id
  }

  /** `create` for a caller who knows little about the session yet (spec §7). */
  async ensure(id: string, session: Partial<Omit<NewSession, 'id'>> = {}): Promise<string> {
    requireObject('session', session)
    const row = toNewSessionRow({ ...session, id, source: session.source ?? 'unknown' })
    await this.#insert(row)
    return row.id
  }

  /** @throws {SessionNotFoundError} */
  async get(id: string): Promise<Session> {
    const session = await this.find(id)
    if (!session) throw new SessionNotFoundError(id)
    return session
  }

  async find(id: string): Promise<Session | undefined> {
    const row = await byId.first(this.#db.read, { id: lookupText('id', id) })
    return row && toSession(row)
  }

  /** The id that is this text, else the only one that begins with it, ASCII case aside (spec §8). */
  async resolveId(idOrPrefix: string): Promise<string | undefined> {
    const text = lookupText('idOrPrefix', idOrPrefix)
    if (await idIs.first(this.#db.read, { id: text })) return text
    const length = codePointLength(text)
    const [only, another] = await idsBeginWith.all(this.#db.read, { text, length })
    return another ? undefined : only?.id
  }

  /** Ends the session now, unless it has ended already: the first end wins (spec §7). */
  async end(id: string, reason: string | null): Promise<void> {
    const session = lookupText('id', id)
    const endReason = optionalText('reason', reason)
    await this.#db.write((trx) =>
      trx
        .updateTable('sessions')
        .set({ ended_at: nowSeconds(), end_reason: endReason })
        .where('id', '=', session)
        .where('ended_at', 'is', null)
        .execute(),
    )
  }

  async reopen(id: string): Promise<void> {
    const session = lookupText('id', id)
    await this.#db.write((trx) =>
      trx
        .updateTable('sessions')
        .set({ ended_at: null, end_reason: null })
        .where('id', '=', session)
        .execute(),
    )
  }

  async setSystemPrompt(id: string, text: string | null): Promise<void> {
    const session = lookupText('id', id)
    const prompt = optionalText('text', text)
    await this.#db.write((trx) =>
      trx
        .updateTable('sessions')
        .set({ system_prompt: prompt })
        .where('id', '=', session)
        .execute(),
    )
  }

  /** Adds what a model call used to the totals; makes the session if there is none (spec §7). */
  async addUsage(id: string, usage: Usage): Promise<void> {
    const row = toUsageRow(id, usage)
    await this.#db.write((trx) => addUsage(trx, row))
  }

  /** Replaces the totals: what `usage` leaves out becomes 0 (spec §7). */
  async setUsage(id: string, usage: Usage): Promise<void> {
    const row = toUsageRow(id, usage)
    await this.#db.write((trx) => setUsage(trx, row))
  }

  /** One entry for each conversation, the latest first (spec §10). */
  list(options: SessionListOptions = {}): Promise<SessionListEntry[]> {
    return listSessions(this.#db, options)
  }

  /** Every session, children too, in the order of their last activity (spec §10). */
  recent(options: RecentSessionsOptions = {}): Promise<RecentSession[]> {
    return recentSessions(this.#db, options)
  }

  async count(options: { source?: string } = {}): Promise<number> {
    requireObject('options', options)
    const only = optionalText('source', options.source)
    const { count } = await this.#db.read
      .selectFrom('sessions')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .$if(Boolean(only), (query) => query.where('source', '=', only))
      .executeTakeFirstOrThrow()
    return count
  }

  /** Deletes a session with its messages; its children stay, without a parent (spec §14). */
  delete(id: string, options: DeleteOptions = {}): Promise<boolean> {
    return deleteSession(this.#db, id, options)
  }

  /** Deletes the ended sessions that started before `olderThanDays` ago, 90 if absent (spec §14). */
  prune(options: PruneOptions = {}): Promise<number> {
    return pruneSessions(this.#db, options)
  }

  /** Deletes the empty sessions a terminal left behind more than a day ago (spec §7). */
  pruneGhosts(options: DeleteOptions = {}): Promise<number> {
    return pruneGhosts(this.#db, options)
  }

  /** Ends the continuations of a compression that were never used for a week (spec §7). */
  finalizeOrphanedCompressions(): Promise<number> {
    return finalizeOrphanedCompressions(this.#db)
  }

  async #insert(row: NewSessionRow): Promise<boolean> {
    try {
      return await this.#db.write((trx) => insertSession(trx, row))
    } catch (error) {
      if (row.parentSessionId === null || !isForeignKeyError(error)) throw error
      throw new SessionNotFoundError(row.parentSessionId, { cause: error })
    }
  }
}

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('sessions').select(sessionColumns).where('id', '=', p.id),
)

const idIs = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('sessions').select('id').where('id', '=', p.id),
)

const idsBeginWith = prepare<{ text: string; length: number }>()((db, p) =>
  db.selectFrom('sessions').select('id').where(beginsWith('id', p)).limit(2),
)

function isForeignKeyError(error: unknown): boolean {
  return error instanceof ConstraintError && error.sqliteCode === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

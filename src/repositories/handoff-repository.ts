import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { SessionNotFoundError } from '../errors.ts'
import { sliceCodePoints } from '../schema/python-text.ts'
import { lookupText, requireText } from './input.ts'
import { sessionColumns, toSession, type Session } from './session-row.ts'

/** How far a session has come on its way to another platform; `state` is null when nobody asked. */
export interface Handoff {
  /** `pending`, `running`, `completed` or `failed`. */
  readonly state: string | null
  readonly platform: string | null
  readonly error: string | null
}

const ERROR_LENGTH = 500

/** The command line asks for a session to go on elsewhere, a gateway takes it over (spec §17). */
export class HandoffRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /** False, and nothing changed, while a handoff is pending or running, and for an unknown session. */
  async request(id: string, platform: string): Promise<boolean> {
    const session = lookupText('id', id)
    const target = requireText('platform', platform)
    return this.#db.write(async (trx) => {
      const { numUpdatedRows } = await trx
        .updateTable('sessions')
        .set({ handoff_state: 'pending', handoff_platform: target, handoff_error: null })
        .where('id', '=', session)
        .where((eb) =>
          eb.or([
            eb('handoff_state', 'is', null),
            eb('handoff_state', 'in', ['completed', 'failed']),
          ]),
        )
        .executeTakeFirst()
      return numUpdatedRows > 0n
    })
  }

  /** True for the one caller who is to carry the handoff out. */
  async claim(id: string): Promise<boolean> {
    const session = lookupText('id', id)
    return this.#db.write(async (trx) => {
      const { numUpdatedRows } = await trx
        .updateTable('sessions')
        .set({ handoff_state: 'running' })
        .where('id', '=', session)
        .where('handoff_state', '=', 'pending')
        .executeTakeFirst()
      return numUpdatedRows > 0n
    })
  }

  /** Whatever the state was; an unknown session changes nothing. */
  async complete(id: string): Promise<void> {
    await this.#finish(id, { handoff_state: 'completed', handoff_error: null })
  }

  /** Whatever the state was; an unknown session changes nothing. Keeps 500 characters of the error. */
  async fail(id: string, error: string): Promise<void> {
    const text = sliceCodePoints(lookupText('error', error), ERROR_LENGTH)
    await this.#finish(id, { handoff_state: 'failed', handoff_error: text })
  }

  /** @throws {SessionNotFoundError} */
  async get(id: string): Promise<Handoff> {
    const handoff = await this.find(id)
    if (!handoff) throw new SessionNotFoundError(id)
    return handoff
  }

  async find(id: string): Promise<Handoff | undefined> {
    return handoffOf.first(this.#db.read, { id: lookupText('id', id) })
  }

  /** What waits for a gateway to claim it, the session started first in front. */
  async listPending(): Promise<Session[]> {
    return (await pending.all(this.#db.read, {})).map(toSession)
  }

  async #finish(
    id: string,
    change: { handoff_state: string; handoff_error: string | null },
  ): Promise<void> {
    const session = lookupText('id', id)
    await this.#db.write((trx) =>
      trx.updateTable('sessions').set(change).where('id', '=', session).execute(),
    )
  }
}

const handoffOf = prepare<{ id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select(['handoff_state as state', 'handoff_platform as platform', 'handoff_error as error'])
    .where('id', '=', p.id),
)

const pending = prepare<object>()((db) =>
  db
    .selectFrom('sessions')
    .select(sessionColumns)
    .where('handoff_state', '=', 'pending')
    .orderBy('started_at')
    .orderBy('id'),
)

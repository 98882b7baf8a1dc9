import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { TitleConflictError } from '../errors.ts'
import { codePointLength } from '../schema/python-text.ts'
import { beginsWith } from './begins-with.ts'
import { lookupText } from './input.ts'
import { sanitizeTitle } from './sanitize-title.ts'
import { sessionColumns, toSession, type Session } from './session-row.ts'
import { numberOf, withoutNumber } from './title-number.ts'

/** Titles name at most one session each; case counts (spec §8). */
export class TitleRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /**
   * Stores the sanitised title, or none; false when there is no such session.
   * @throws {TitleConflictError} naming the session that has it, even if `id` is unknown.
   * @throws {InvalidInputError} when it is longer than 100 code points.
   */
  async set(id: string, title: string | null): Promise<boolean> {
    const session = lookupText('id', id)
    const wanted = sanitizeTitle(title)
    // Nobody can take the title between the check and the update: both hold the write lock.
    return this.#db.write(async (trx) => {
      if (wanted !== null) {
        const holder = await otherHolder.first(trx, { title: wanted, id: session })
        if (holder) throw new TitleConflictError(wanted, holder.id)
      }
      const { numUpdatedRows } = await trx
        .updateTable('sessions')
        .set({ title: wanted })
        .where('id', '=', session)
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    })
  }

  /** Null when the session has none, or there is no such session. */
  async get(id: string): Promise<string | null> {
    const row = await titleById.first(this.#db.read, { id: lookupText('id', id) })
    return row?.title ?? null
  }

  /** The session of exactly this title. */
  async find(title: string): Promise<Session | undefined> {
    const row = await byTitle.first(this.#db.read, { title: lookupText('title', title) })
    return row && toSession(row)
  }

  /** The latest started of the sessions called `<title> #…`, else the one called so (spec §8). */
  async resolve(title: string): Promise<string | undefined> {
    const text = lookupText('title', title)
    const numbered = await latestOf.first(this.#db.read, lineageOf(text))
    return (numbered ?? (await idByTitle.first(this.#db.read, { title: text })))?.id
  }

  /** A title for the next part: `<base> #<n>`, above every number in use; the base if free (spec §8). */
  async next(title: string): Promise<string> {
    const base = withoutNumber(lookupText('title', title))
    const taken = await titlesOf.all(this.#db.read, { base, ...lineageOf(base) })
    if (taken.length === 0) return base
    const numbers = taken.map((row) => numberOf(row.title ?? '') ?? 1n)
    const highest = numbers.reduce((most, number) => (number > most ? number : most), 1n)
    return `${base} #${highest + 1n}`
  }
}

interface Beginning {
  readonly text: string
  readonly length: number
}

function lineageOf(base: string): Beginning {
  const text = `${base} #`
  return { text, length: codePointLength(text) }
}

const titleById = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('sessions').select('title').where('id', '=', p.id),
)

const byTitle = prepare<{ title: string }>()((db, p) =>
  db.selectFrom('sessions').select(sessionColumns).where('title', '=', p.title),
)

const idByTitle = prepare<{ title: string }>()((db, p) =>
  db.selectFrom('sessions').select('id').where('title', '=', p.title),
)

const otherHolder = prepare<{ title: string; id: string }>()((db, p) =>
  db.selectFrom('sessions').select('id').where('title', '=', p.title).where('id', '!=', p.id),
)

const latestOf = prepare<Beginning>()((db, p) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where(beginsWith('title', p))
    .orderBy('started_at', 'desc')
    .limit(1),
)

const titlesOf = prepare<Beginning & { base: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select('title')
    .where((eb) => eb.or([eb('title', '=', p.base), beginsWith('title', p)])),
)

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { optionalText, requireText } from './input.ts'

/** Small named values that belong to the whole file, for instance when it was last pruned (spec §15). */
export class MetaRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /** Null for a key that was never set, and for one that was set to null. */
  async get(key: string): Promise<string | null> {
    const row = await valueOf.first(this.#db.read, { key: requireText('key', key) })
    return row?.value ?? null
  }

  /** Numbers are kept as text. */
  async set(key: string, value: string | number | null): Promise<void> {
    const row = { key: requireText('key', key), value: textOf(value) }
    await this.#db.write((trx) => upsert.run(trx, row))
  }
}

const valueOf = prepare<{ key: string }>()((db, p) =>
  db.selectFrom('state_meta').select('value').where('key', '=', p.key),
)

const upsert = prepare<{ key: string; value: string | null }>()((db, p) =>
  db
    .insertInto('state_meta')
    .values({ key: p.key, value: p.value })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({ value: (eb) => eb.ref('excluded.value') }),
    ),
)

function textOf(value: string | number | null): string | null {
  if (typeof value !== 'number') return optionalText('value', value)
  if (!Number.isFinite(value)) throw new InvalidInputError('value', 'must be a finite number')
  return String(value)
}

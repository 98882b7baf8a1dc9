import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { nowSeconds } from '../schema/clock.ts'
import { expiryOf, isAlive, keyOf, purgeExpired, type KeySpace } from './key-space.ts'

export interface KeyValue {
  readonly key: string
  readonly value: string
  /** Forever when absent. */
  readonly ttlMs?: number | undefined
}

type Row = KeySpace & { key: string; value: string; expiresAt: number | null }
type At = KeySpace & { key: string; now: number }

const PAGE = 100
const ROWS_PER_CLEAR = 1000

/** Texts under keys of one space, each for ever or for a time. What has expired is never seen again. */
export class KeyValueRepository {
  readonly #db: Pick<Handle, 'read' | 'write'>
  readonly #space: KeySpace

  /** @throws {InvalidInputError} unless the namespace is a text. */
  constructor(db: Pick<Handle, 'read' | 'write'>, { namespace, kind }: KeySpace) {
    this.#db = db
    this.#space = { namespace: keyOf('namespace', namespace), kind }
  }

  async find(key: string): Promise<string | undefined> {
    const row = await valueOf.first(this.#db.read, this.#at(key))
    return row?.value ?? undefined
  }

  async set(key: string, value: string, ttlMs?: number): Promise<void> {
    await this.setMany([{ key, value, ttlMs }])
  }

  async setMany(entries: readonly KeyValue[]): Promise<void> {
    const rows = entries.map((entry) => this.#row(entry))
    await this.#db.write(async (trx) => {
      for (const row of rows) await upsert.run(trx, row)
      await purgeExpired(trx, nowSeconds())
    })
  }

  /** False when the key is there; of several processes that call it at once one gets true. */
  async setIfAbsent(key: string, value: string, ttlMs?: number): Promise<boolean> {
    const row = this.#row({ key, value, ttlMs })
    return this.#db.write(async (trx) => {
      const now = nowSeconds()
      const { numAffectedRows } = await upsertIfExpired.run(trx, { ...row, now })
      await purgeExpired(trx, now)
      return numAffectedRows === 1n
    })
  }

  /** Gives the key new time; false when it has expired or holds another value. */
  async extend(key: string, value: string, ttlMs: number): Promise<boolean> {
    const row = this.#row({ key, value, ttlMs })
    const { numAffectedRows } = await this.#db.write((trx) =>
      extendIfSame.run(trx, { ...row, now: nowSeconds() }),
    )
    return numAffectedRows === 1n
  }

  /** False when there was no such key. */
  async delete(key: string): Promise<boolean> {
    const [deleted] = await this.deleteMany([key])
    return deleted === true
  }

  async deleteMany(keys: readonly string[]): Promise<boolean[]> {
    const places = keys.map((key) => this.#at(key))
    return this.#db.write(async (trx) => {
      const deleted: boolean[] = []
      for (const place of places) {
        const row = await remove.first(trx, place)
        deleted.push(Boolean(row?.was_alive))
      }
      return deleted
    })
  }

  /** Deletes the key unless it holds another value. */
  async deleteIf(key: string, value: string): Promise<void> {
    const place = { ...this.#at(key), value }
    await this.#db.write((trx) => removeIfSame.run(trx, place))
  }

  /** Deletes everything in the space, a part at a time so that others can write in between. */
  async clear(): Promise<void> {
    let deleted: bigint | undefined
    do {
      const { numAffectedRows } = await this.#db.write((trx) =>
        removeSome.run(trx, { ...this.#space, limit: ROWS_PER_CLEAR }),
      )
      deleted = numAffectedRows
    } while (deleted === BigInt(ROWS_PER_CLEAR))
  }

  /** Every key with its value, by key; what is written meanwhile may be among them. */
  async *entries(): AsyncGenerator<[key: string, value: string], void> {
    let last: string | undefined
    for (;;) {
      const from = { ...this.#space, from: last ?? '', now: nowSeconds(), limit: PAGE }
      const rows = (await page.all(this.#db.read, from)).filter(({ key }) => key !== last)
      for (const { key, value } of rows) if (value !== null) yield [key, value]
      last = rows.at(-1)?.key
      if (last === undefined) return
    }
  }

  #at(key: string): At {
    return { ...this.#space, key: keyOf('key', key), now: nowSeconds() }
  }

  #row({ key, value, ttlMs }: KeyValue): Row {
    return { ...this.#space, key: keyOf('key', key), value, expiresAt: expiryOf(ttlMs) }
  }
}

const valueOf = prepare<At>()((db, p) =>
  db
    .selectFrom('store_key_values')
    .select('value')
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key }))
    .where(isAlive(p.now)),
)

const page = prepare<KeySpace & { from: string; now: number; limit: number }>()((db, p) =>
  db
    .selectFrom('store_key_values')
    .select(['key', 'value'])
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind }))
    .where('key', '>=', p.from)
    .where(isAlive(p.now))
    .orderBy('key')
    .limit(p.limit),
)

const upsert = prepare<Row>()((db, p) =>
  db
    .insertInto('store_key_values')
    .values({
      namespace: p.namespace,
      kind: p.kind,
      key: p.key,
      value: p.value,
      expires_at: p.expiresAt,
    })
    .onConflict((conflict) =>
      conflict.columns(['namespace', 'kind', 'key']).doUpdateSet((eb) => ({
        value: eb.ref('excluded.value'),
        expires_at: eb.ref('excluded.expires_at'),
      })),
    ),
)

const upsertIfExpired = prepare<Row & { now: number }>()((db, p) =>
  db
    .insertInto('store_key_values')
    .values({
      namespace: p.namespace,
      kind: p.kind,
      key: p.key,
      value: p.value,
      expires_at: p.expiresAt,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['namespace', 'kind', 'key'])
        .doUpdateSet((eb) => ({
          value: eb.ref('excluded.value'),
          expires_at: eb.ref('excluded.expires_at'),
        }))
        .where('store_key_values.expires_at', '<=', p.now),
    ),
)

const extendIfSame = prepare<Row & { now: number }>()((db, p) =>
  db
    .updateTable('store_key_values')
    .set({ expires_at: p.expiresAt })
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key, value: p.value }))
    .where(isAlive(p.now)),
)

const remove = prepare<At>()((db, p) =>
  db
    .deleteFrom('store_key_values')
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key }))
    .returning(isAlive(p.now).as('was_alive')),
)

const removeIfSame = prepare<At & { value: string }>()((db, p) =>
  db
    .deleteFrom('store_key_values')
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key, value: p.value })),
)

const removeSome = prepare<KeySpace & { limit: number }>()((db, p) =>
  db.deleteFrom('store_key_values').where('id', 'in', (eb) =>
    eb
      .selectFrom('store_key_values')
      .select('id')
      .where((place) => place.and({ namespace: p.namespace, kind: p.kind }))
      .limit(p.limit),
  ),
)

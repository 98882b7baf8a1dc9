import type { Kysely, Transaction } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { expiryOf, isAlive, keyOf, purgeExpired, type KeySpace } from './key-space.ts'

type Place = KeySpace & { key: string }
type At = Place & { now: number }

/** Lists of texts under keys of one space: they expire as a whole, their items one by one if so asked. */
export class ListRepository {
  readonly #db: Pick<Handle, 'read' | 'write'>
  readonly #space: KeySpace

  /** @throws {InvalidInputError} unless the namespace is a text. */
  constructor(db: Pick<Handle, 'read' | 'write'>, { namespace, kind }: KeySpace) {
    this.#db = db
    this.#space = { namespace: keyOf('namespace', namespace), kind }
  }

  /** Adds at the end; the list then lives for `ttlMs`, or for ever. Keeps the newest `maxLength`. */
  async append(
    key: string,
    value: string,
    options: { ttlMs?: number | undefined; maxLength?: number | undefined } = {},
  ): Promise<void> {
    const place = this.#place(key)
    const expiresAt = expiryOf(options.ttlMs)
    const { maxLength } = options
    requireLength(maxLength)
    await this.#db.write(async (trx) => {
      const listId = await writableList(trx, place, () => expiresAt)
      await insertItem.run(trx, { listId, value, expiresAt: null })
      if (maxLength !== undefined) await trim.run(trx, { listId, keep: maxLength })
    })
  }

  /** Adds an item that is skipped from `until`, in seconds, and returns how many are waiting then. */
  async enqueue(
    key: string,
    value: string,
    { until, maxLength }: { until: number; maxLength: number },
  ): Promise<number> {
    const place = this.#place(key)
    if (!Number.isFinite(until)) throw new InvalidInputError('until', 'must be a time in seconds')
    requireLength(maxLength)
    return this.#db.write(async (trx) => {
      const listId = await writableList(trx, place, (earlier) => Math.max(earlier ?? until, until))
      await insertItem.run(trx, { listId, value, expiresAt: until })
      await removeStale.run(trx, { listId, now: nowSeconds() })
      await trim.run(trx, { listId, keep: maxLength })
      return (await countItems.first(trx, { ...place, now: nowSeconds() }))?.length ?? 0
    })
  }

  /** Takes the oldest item out. */
  async shift(key: string): Promise<string | undefined> {
    const place = this.#place(key)
    return this.#db.write(async (trx) => {
      const oldest = await firstItem.first(trx, { ...place, now: nowSeconds() })
      if (!oldest) return undefined
      await removeThrough.run(trx, { listId: oldest.list_id, id: oldest.id })
      return oldest.value
    })
  }

  /** Oldest first. */
  async items(key: string): Promise<string[]> {
    const rows = await allItems.all(this.#db.read, { ...this.#place(key), now: nowSeconds() })
    return rows.map((row) => row.value)
  }

  async length(key: string): Promise<number> {
    const place = { ...this.#place(key), now: nowSeconds() }
    return (await countItems.first(this.#db.read, place))?.length ?? 0
  }

  async delete(key: string): Promise<void> {
    const place = this.#place(key)
    await this.#db.write((trx) => removeList.run(trx, place))
  }

  #place(key: string): Place {
    return { ...this.#space, key: keyOf('key', key) }
  }
}

/** The id of the list, made or begun anew where it has expired, with its new expiry. */
async function writableList(
  trx: Transaction<Database>,
  place: Place,
  expiry: (earlier: number | null) => number | null,
): Promise<number> {
  const now = nowSeconds()
  await purgeExpired(trx, now)
  const list = await findList.first(trx, place)
  const isLive = list !== undefined && (list.expires_at === null || list.expires_at > now)
  if (list && !isLive) await removeList.run(trx, place)
  const expiresAt = expiry(isLive ? list.expires_at : null)
  if (isLive) {
    await setExpiry.run(trx, { listId: list.id, expiresAt })
    return list.id
  }
  const { insertId } = await insertList.run(trx, { ...place, expiresAt })
  return Number(insertId)
}

function requireLength(maxLength: number | undefined): void {
  if (maxLength === undefined || (Number.isSafeInteger(maxLength) && maxLength >= 0)) return
  throw new InvalidInputError('maxLength', 'must be a whole number from 0 up')
}

const findList = prepare<Place>()((db, p) =>
  db
    .selectFrom('store_key_values')
    .select(['id', 'expires_at'])
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key })),
)

const insertList = prepare<Place & { expiresAt: number | null }>()((db, p) =>
  db.insertInto('store_key_values').values({
    namespace: p.namespace,
    kind: p.kind,
    key: p.key,
    value: null,
    expires_at: p.expiresAt,
  }),
)

const setExpiry = prepare<{ listId: number; expiresAt: number | null }>()((db, p) =>
  db.updateTable('store_key_values').set({ expires_at: p.expiresAt }).where('id', '=', p.listId),
)

const removeList = prepare<Place>()((db, p) =>
  db
    .deleteFrom('store_key_values')
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key })),
)

const insertItem = prepare<{ listId: number; value: string; expiresAt: number | null }>()((db, p) =>
  db
    .insertInto('store_list_items')
    .values({ list_id: p.listId, value: p.value, expires_at: p.expiresAt }),
)

const removeStale = prepare<{ listId: number; now: number }>()((db, p) =>
  db
    .deleteFrom('store_list_items')
    .where('list_id', '=', p.listId)
    .where('expires_at', '<=', p.now),
)

const trim = prepare<{ listId: number; keep: number }>()((db, p) =>
  db
    .deleteFrom('store_list_items')
    .where('list_id', '=', p.listId)
    .where('id', '<=', (eb) =>
      eb
        .selectFrom('store_list_items')
        .select('id')
        .where('list_id', '=', p.listId)
        .orderBy('id', 'desc')
        .limit(1)
        .offset(p.keep),
    ),
)

const removeThrough = prepare<{ listId: number; id: number }>()((db, p) =>
  db.deleteFrom('store_list_items').where('list_id', '=', p.listId).where('id', '<=', p.id),
)

/** The items that are still there for readers of the list. */
function aliveItems(db: Kysely<Database>, p: At) {
  return db
    .selectFrom('store_list_items')
    .innerJoin('store_key_values', 'store_key_values.id', 'store_list_items.list_id')
    .where((eb) => eb.and({ namespace: p.namespace, kind: p.kind, key: p.key }))
    .where(isAlive(p.now))
    .where((eb) =>
      eb.or([
        eb('store_list_items.expires_at', 'is', null),
        eb('store_list_items.expires_at', '>', p.now),
      ]),
    )
}

const allItems = prepare<At>()((db, p) =>
  aliveItems(db, p).select('store_list_items.value').orderBy('store_list_items.id'),
)

const firstItem = prepare<At>()((db, p) =>
  aliveItems(db, p)
    .select(['store_list_items.id', 'list_id', 'store_list_items.value'])
    .orderBy('store_list_items.id')
    .limit(1),
)

const countItems = prepare<At>()((db, p) =>
  aliveItems(db, p).select((eb) => eb.fn.countAll<number>().as('length')),
)

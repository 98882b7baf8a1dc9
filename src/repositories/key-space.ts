import { sql, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import type { Database } from '../schema/database.ts'

/** Where keys are unique. Equal keys of two spaces have nothing to do with each other. */
export interface KeySpace {
  readonly namespace: string
  readonly kind: 'value' | 'lock' | 'list' | 'queue' | 'subscription'
}

const PURGED_PER_WRITE = 50

const purge = prepare<{ now: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('store_key_values')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('store_key_values')
        .select('id')
        .where('expires_at', '<=', p.now)
        .orderBy('expires_at')
        .limit(p.limit),
    ),
)

/** Deletes some of what has expired, in every namespace, so that no write has to wait for all of it. */
export async function purgeExpired(trx: Transaction<Database>, now: number): Promise<void> {
  await purge.run(trx, { now, limit: PURGED_PER_WRITE })
}

/** True of a row that is still there for its readers. */
export function isAlive(now: number) {
  return sql<boolean>`(store_key_values.expires_at is null or store_key_values.expires_at > ${now})`
}

/** When something written now expires: null for never. @throws {InvalidInputError} */
export function expiryOf(ttlMs: number | undefined): number | null {
  if (ttlMs === undefined) return null
  if (!Number.isFinite(ttlMs) || ttlMs < 0) {
    throw new InvalidInputError('ttlMs', 'must be a number of milliseconds from 0 up')
  }
  // Added before the division: a sum of fractions may miss the moment by a bit.
  return (Date.now() + ttlMs) / 1000
}

/** A lone surrogate would be stored as U+FFFD, under which two keys would be one. @throws {InvalidInputError} */
export function keyOf(field: string, value: unknown): string {
  if (typeof value !== 'string' || !value.isWellFormed()) {
    throw new InvalidInputError(field, 'must be a string without lone surrogates')
  }
  return value
}

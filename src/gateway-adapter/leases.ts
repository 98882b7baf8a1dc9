import { sql, type Kysely, type RawBuilder, type SqlBool, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'

/** What may be done by one at a time, and who wants to. */
export interface Lease {
  readonly name: string
  /** Unique to the piece of work, not only to the process: it must not meet itself. */
  readonly holder: string
}

/** The right to answer in a session: the work is the message that is answered. */
export function turnLease(gatewayId: string, sessionId: string, messageId: number): Lease {
  return { name: `session:${sessionId}`, holder: turnHolder(gatewayId, messageId) }
}

/** The right to send what a turn has to say. */
export function replyLease(gatewayId: string, turnId: number): Lease {
  return { name: `turn:${turnId}`, holder: `${gatewayId}/reply ${turnId}` }
}

/** False when somebody is at it. One who has not renewed in time counts as dead. */
export async function takeLease(
  trx: Transaction<Database>,
  lease: Lease,
  seconds: number,
): Promise<boolean> {
  const now = nowSeconds()
  const { numAffectedRows } = await take.run(trx, { ...lease, now, until: now + seconds })
  return numAffectedRows === 1n
}

/** `gone`: it was given back. `lost`: somebody else has taken it over. */
export async function renewLease(
  trx: Transaction<Database>,
  lease: Lease,
  seconds: number,
): Promise<'renewed' | 'gone' | 'lost'> {
  const now = nowSeconds()
  const { numAffectedRows } = await renew.run(trx, { ...lease, now, until: now + seconds })
  if (numAffectedRows) return 'renewed'
  return (await byName.first(trx, { name: lease.name })) ? 'lost' : 'gone'
}

/** Whoever is at work in the one session is at work in its continuation, too. */
export async function extendTurn(
  trx: Transaction<Database>,
  sessionId: string,
  continuationId: string,
): Promise<void> {
  const [from, to] = [sessionId, continuationId].map((id) => turnLease('', id, 0).name)
  await copy.run(trx, { from: from!, to: to! })
}

export async function releaseLease(trx: Transaction<Database>, lease: Lease): Promise<void> {
  await release.run(trx, lease)
}

/** Whatever session the message is in. */
export async function releaseTurns(
  trx: Transaction<Database>,
  gatewayId: string,
  messageId: number,
): Promise<void> {
  await release.run(trx, { holder: turnHolder(gatewayId, messageId) })
}

export async function isHolding(db: Kysely<Database>, lease: Lease): Promise<boolean> {
  return (await byName.first(db, { name: lease.name }))?.holder === lease.holder
}

/** Whether any work of the gateway is alive under that name. */
export async function isHeldBy(
  db: Kysely<Database>,
  name: string,
  gatewayId: string,
): Promise<boolean> {
  const row = await live.first(db, { name, now: nowSeconds() })
  return row?.holder.startsWith(`${gatewayId}/`) ?? false
}

export async function isTaken(db: Kysely<Database>, name: string): Promise<boolean> {
  return (await live.first(db, { name, now: nowSeconds() })) !== undefined
}

/** A condition on `store_leases`. Renewed in the future: the clock was set back, and nobody can tell. */
export function isAlive(now: number): RawBuilder<SqlBool> {
  return sql`(expires_at > ${now} and 2 * renewed_at - expires_at <= ${now})`
}

const take = prepare<Lease & { now: number; until: number }>()((db, p) =>
  db
    .insertInto('store_leases')
    .values({ name: p.name, holder: p.holder, renewed_at: p.now, expires_at: p.until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ holder: p.holder, renewed_at: p.now, expires_at: p.until })
        .where(sql<SqlBool>`not ${isAlive(p.now)}`),
    ),
)

const copy = prepare<{ from: string; to: string }>()((db, p) =>
  db
    .insertInto('store_leases')
    .columns(['name', 'holder', 'renewed_at', 'expires_at'])
    .expression((eb) =>
      eb
        .selectFrom('store_leases')
        .select([eb.val(p.to).as('name'), 'holder', 'renewed_at', 'expires_at'])
        .where('name', '=', p.from),
    )
    .onConflict((conflict) => conflict.doNothing()),
)

// By holder: one piece of work may have a session and its continuation. It is a handful of rows.
const renew = prepare<Lease & { now: number; until: number }>()((db, p) =>
  db
    .updateTable('store_leases')
    .set({ renewed_at: p.now, expires_at: p.until })
    .where('holder', '=', p.holder),
)

const release = prepare<{ holder: string }>()((db, p) =>
  db.deleteFrom('store_leases').where('holder', '=', p.holder),
)

const byName = prepare<{ name: string }>()((db, p) =>
  db.selectFrom('store_leases').select('holder').where('name', '=', p.name),
)

const live = prepare<{ name: string; now: number }>()((db, p) =>
  db.selectFrom('store_leases').select('holder').where('name', '=', p.name).where(isAlive(p.now)),
)

function turnHolder(gatewayId: string, messageId: number): string {
  return `${gatewayId}/${messageId}`
}

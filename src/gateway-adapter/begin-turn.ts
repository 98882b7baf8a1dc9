import type { Store } from '../store.ts'
import { findSettlement, settleClaim } from './claims.ts'
import type { Lane } from './lane.ts'
import { isTaken, releaseTurns, takeLease, turnLease } from './leases.ts'
import type { Recorder } from './turn.ts'

/** `begun`: the turn is the caller's. `queued`: another one is under way. `settled`: nothing is left to do. */
export type Begin = 'begun' | 'queued' | 'settled'

/** Asks without the write lock first: whoever is queued asks again and again. */
export async function beginTurn(
  store: Store,
  { sessionId }: Lane,
  messageId: number,
  { gatewayId, leaseSeconds }: Recorder,
): Promise<Begin> {
  const lease = turnLease(gatewayId, sessionId, messageId)
  if ((await findSettlement(store.db, messageId))?.settled) return 'settled'
  if (await isTaken(store.db, lease.name)) return 'queued'
  return store.transaction(async ({ db }) => {
    if ((await findSettlement(db, messageId))?.settled) return 'settled'
    return (await takeLease(db, lease, leaseSeconds)) ? 'begun' : 'queued'
  })
}

/** Nobody answers the message any more; what this gateway held for it is free. */
export async function giveUpTurn(
  store: Store,
  messageId: number,
  { gatewayId }: Recorder,
): Promise<void> {
  await store.transaction(async ({ db }) => {
    await settleClaim(db, messageId, null)
    await releaseTurns(db, gatewayId, messageId)
  })
}

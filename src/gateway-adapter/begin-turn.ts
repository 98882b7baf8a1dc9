import type { Store } from '../store.ts'
import { findSettlement, settleClaim } from './claims.ts'
import type { Lane } from './lane.ts'
import { isTaken, releaseTurns, takeLease, turnLease } from './leases.ts'
import type { Recorder } from './turn.ts'

/** `begun`: the turn is the caller's. `queued`: another one is under way. `settled`: nothing is left to do. */
export type Begin = 'begun' | 'queued' | 'settled'

/** Of the messages of this process that ask for it, the oldest of the session begins. */
export async function beginTurn(
  store: Store,
  { sessionId }: Lane,
  messageId: number,
  recorder: Recorder,
): Promise<Begin> {
  const state = await tryBegin(store, sessionId, messageId, recorder)
  if (state === 'queued') recorder.waiting.ask(sessionId, messageId)
  else recorder.waiting.end(messageId)
  return state
}

/** Looks without the write lock first: whoever is queued asks again and again. */
async function tryBegin(
  store: Store,
  sessionId: string,
  messageId: number,
  { gatewayId, leaseSeconds, waiting }: Recorder,
): Promise<Begin> {
  const lease = turnLease(gatewayId, sessionId, messageId)
  if ((await findSettlement(store.db, messageId))?.settled) return 'settled'
  if (waiting.isBehind(sessionId, messageId)) return 'queued'
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
  { gatewayId, waiting }: Recorder,
): Promise<void> {
  await store.transaction(async ({ db }) => {
    await settleClaim(db, messageId, null)
    await releaseTurns(db, gatewayId, messageId)
  })
  waiting.end(messageId)
  waiting.freeAll()
}

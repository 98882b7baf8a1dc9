import { DatabaseBusyError, LeaseLostError } from '../errors.ts'
import type { Store } from '../store.ts'
import type { Lane } from './lane.ts'
import { isHolding, releaseLease, renewLease, turnLease, type Lease } from './leases.ts'
import type { Recorder } from './turn.ts'

/** Work under a lease; the signal aborts when somebody else has taken it over. */
export type Work<T> = (signal: AbortSignal) => Promise<T>

/** What a gateway does for a message whose turn has begun. @throws {LeaseLostError} */
export async function workOnTurn<T>(
  store: Store,
  { lane: { sessionId }, messageId }: { lane: Lane; messageId: number },
  work: Work<T>,
  { gatewayId, leaseSeconds, waiting }: Recorder,
): Promise<T> {
  try {
    return await whileHolding(store, turnLease(gatewayId, sessionId, messageId), leaseSeconds, work)
  } finally {
    waiting.free(sessionId)
  }
}

/**
 * Does a piece of work whose lease was taken, renews the lease in the meantime, and gives it back at the
 * end unless the work has. The signal aborts when somebody else has taken the work over, which happens
 * to a process that stood still for longer than the lease; `work` may go on, but in vain.
 * @throws {LeaseLostError} when that has happened before it could begin.
 */
export async function whileHolding<T>(
  store: Store,
  lease: Lease,
  seconds: number,
  work: Work<T>,
): Promise<T> {
  await assertHolding(store, lease)
  const lost = new AbortController()
  let renewal: Promise<void> = Promise.resolve()
  const timer = setInterval(
    () => {
      renewal = renewal.then(renew)
    },
    (seconds * 1000) / 3,
  )
  // A bot that has nothing else to do may end.
  timer.unref()

  async function renew(): Promise<void> {
    try {
      const outcome = await store.transaction(({ db }) => renewLease(db, lease, seconds))
      if (outcome === 'renewed') return
      if (outcome === 'lost') lost.abort(new LeaseLostError(lease.name))
      clearInterval(timer)
    } catch (error) {
      // The next renewal may still come in time.
      if (error instanceof DatabaseBusyError) return
      lost.abort(error)
      clearInterval(timer)
    }
  }

  try {
    return await work(lost.signal)
  } finally {
    clearInterval(timer)
    await renewal
    await giveBack(store, lease)
  }
}

/** @throws {LeaseLostError} */
export async function assertHolding(store: Store, lease: Lease): Promise<void> {
  if (!(await isHolding(store.db, lease))) throw new LeaseLostError(lease.name)
}

async function giveBack(store: Store, lease: Lease): Promise<void> {
  try {
    if (!(await isHolding(store.db, lease))) return
    await store.transaction(({ db }) => releaseLease(db, lease))
  } catch (error) {
    // It ends by itself soon, and what the work came to matters more.
    if (!(error instanceof DatabaseBusyError)) throw error
  }
}

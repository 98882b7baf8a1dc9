import type { Store } from '../store.ts'
import { beginTurn } from './begin-turn.ts'
import type { Lane } from './lane.ts'
import { isHeldBy, turnLease } from './leases.ts'
import type { Recorder } from './turn.ts'

/** How long until another process is asked again; at random, so that several do not ask at once. */
const LEAST_MS = 100
const MOST_MS = 300

/**
 * Until the turn of the message begins, or there is none any more, or `signal` aborts. A turn of this
 * process says when it ends; one of another process is asked for now and then.
 */
export async function waitForTurn(
  store: Store,
  lane: Lane,
  messageId: number,
  recorder: Recorder,
  signal: AbortSignal | undefined,
): Promise<'begun' | 'settled' | 'stopped'> {
  const { waiting } = recorder
  const { sessionId } = lane
  for (;;) {
    if (signal?.aborted) {
      waiting.end(messageId)
      return 'stopped'
    }
    // From before the look, so that an end between the look and the wait is not missed.
    const change = waiting.change(sessionId)
    if (waiting.isBehind(sessionId, messageId)) {
      waiting.ask(sessionId, messageId)
      await firstOf(change, holdMs(recorder), signal)
      continue
    }
    const state = await beginTurn(store, lane, messageId, recorder)
    if (state !== 'queued') return state
    await firstOf(change, await patienceMs(store, sessionId, recorder), signal)
  }
}

async function patienceMs(store: Store, sessionId: string, recorder: Recorder): Promise<number> {
  const { gatewayId } = recorder
  const isHere = await isHeldBy(store.db, turnLease(gatewayId, sessionId, 0).name, gatewayId)
  const askAgainMs = LEAST_MS + Math.random() * (MOST_MS - LEAST_MS)
  return isHere ? holdMs(recorder) : Math.min(askAgainMs, holdMs(recorder))
}

/** Often enough to be remembered as waiting, and to take over from a turn that nobody works on. */
function holdMs({ leaseSeconds }: Recorder): number {
  return (leaseSeconds * 1000) / 3
}

async function firstOf(
  change: Promise<void>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const stop = () => resolve()
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) resolve()
  await Promise.race([change, promise])
  clearTimeout(timer)
  signal?.removeEventListener('abort', stop)
}

import { setTimeout as sleep } from 'node:timers/promises'

import pRetry from 'p-retry'

import { DatabaseBusyError, InvalidInputError, type LockHolder } from '../errors.ts'
import { isBusy } from './sqlite-errors.ts'

/** How long a caller waits for another connection's lock. All times in milliseconds. */
export interface RetryOptions {
  /** Attempts after the first; 14 by default, so 15 in all, as the Python agent makes (spec §5). */
  retries?: number
  /** Bounds of the uniformly random pause between two attempts; 20 and 150 by default. */
  minMs?: number
  /** The upper bound of that pause. */
  maxMs?: number
  /** Keep trying at least this long, whatever the count; 20,000 unless `retries` is given, then 0. */
  patienceMs?: number
  /** Ends the waiting at once, with the signal's reason; what need not wait goes on. */
  signal?: AbortSignal
}

export interface RetryPolicy {
  readonly retries: number
  readonly minMs: number
  readonly maxMs: number
  readonly patienceMs: number
  readonly signal: AbortSignal | undefined
  /** Who holds the lock, asked once when giving up. */
  readonly findHolder: () => LockHolder | undefined
}

const DEFAULT_RETRIES = 14
const DEFAULT_PATIENCE_MS = 20_000

/** @throws {InvalidInputError} for what is no signal, a negative, fractional (retries) or non-finite number, or minMs > maxMs. */
export function retryPolicy(
  options: RetryOptions = {},
  findHolder: RetryPolicy['findHolder'] = () => undefined,
): RetryPolicy {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidInputError('retry', 'must be an object')
  }
  const retries = options.retries ?? DEFAULT_RETRIES
  if (!Number.isSafeInteger(retries) || retries < 0) {
    throw new InvalidInputError('retry.retries', 'must be a whole number from 0 up')
  }
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw new InvalidInputError('retry.signal', 'must be an AbortSignal')
  }
  const patienceMs = options.patienceMs ?? (options.retries === undefined ? DEFAULT_PATIENCE_MS : 0)
  const minMs = milliseconds('retry.minMs', options.minMs ?? Math.min(20, options.maxMs ?? 20))
  const maxMs = milliseconds('retry.maxMs', options.maxMs ?? Math.max(150, minMs))
  if (minMs > maxMs) throw new InvalidInputError('retry.minMs', 'must not exceed retry.maxMs')
  return {
    retries,
    minMs,
    maxMs,
    patienceMs: milliseconds('retry.patienceMs', patienceMs),
    signal: options.signal,
    findHolder,
  }
}

/**
 * Runs `attempt` again, after a random pause, for as long as it fails because of another
 * connection's lock and the policy allows. Anything else it throws is final.
 * @throws {DatabaseBusyError} when attempts and patience are used up.
 * @throws the reason of the policy's signal when it ends the waiting.
 */
export async function withBusyRetry<T>(
  policy: RetryPolicy,
  attempt: () => T | PromiseLike<T>,
  onRetry?: () => void,
): Promise<T> {
  const startedAt = performance.now()
  let attempts = 0
  try {
    return await pRetry(
      () => {
        attempts += 1
        return attempt()
      },
      {
        retries: Infinity,
        minTimeout: 0,
        factor: 1,
        // Not given the signal: it would also turn a success into a failure when the abort came
        // during it, and a write that is in the file must not be told as one that is not.
        // The pause is made here because p-retry cannot draw one uniformly from a range, and because
        // this hook alone runs if, and only if, another attempt can follow.
        shouldRetry: async ({ error }) => {
          const elapsed = performance.now() - startedAt
          if (!isBusy(error)) return false
          if (attempts > policy.retries && elapsed >= policy.patienceMs) return false
          onRetry?.()
          await pause(policy)
          return true
        },
      },
    )
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new DatabaseBusyError(performance.now() - startedAt, attempts, {
      cause: error,
      holder: policy.findHolder(),
    })
  }
}

/** @throws the signal's reason, at once, when it is or gets aborted. */
async function pause({ minMs, maxMs, signal }: RetryPolicy): Promise<void> {
  const lengthMs = minMs + Math.random() * (maxMs - minMs)
  await sleep(lengthMs, undefined, signal && { signal }).catch(() => {})
  signal?.throwIfAborted()
}

function milliseconds(field: string, value: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new InvalidInputError(field, 'must be a number of milliseconds from 0 up')
  }
  return value
}

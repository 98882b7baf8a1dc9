import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createMemoryState } from '@chat-adapter/state-memory'
import type { StateAdapter } from 'chat'
import * as fc from 'fast-check'

import { ChatState } from '../../src/gateway-adapter/chat-state.ts'
import { openTempStore } from '../support/temp-store.ts'
import { stopClock } from './faces.ts'

// Checked by the compiler: it is what Chat SDK declares.
const asChatDeclares = (state: ChatState): StateAdapter => state

type Operation = (state: StateAdapter, locks: Map<string, Held>) => Promise<unknown>
type Held = Awaited<ReturnType<StateAdapter['acquireLock']>>

const thread = fc.constantFrom('t1', 't:2 🗝', '')
const key = fc.constantFrom('k1', 'k:2', '9007199254740993')
const ttl = fc.constantFrom(undefined, 0, 10, 1000)
// The oracle does not agree with itself about a lock in the very moment it expires: no clock here shows it.
const isSome = (lock: Held | undefined): lock is NonNullable<Held> => Boolean(lock)

/** What a caller does, as a function of the adapter; what it returns must not depend on which one it is. */
const operation: fc.Arbitrary<Operation> = fc.oneof(
  thread.map(
    (t): Operation =>
      (state) =>
        state.subscribe(t),
  ),
  thread.map(
    (t): Operation =>
      (state) =>
        state.unsubscribe(t),
  ),
  thread.map(
    (t): Operation =>
      (state) =>
        state.isSubscribed(t),
  ),
  fc
    .tuple(thread, fc.constantFrom(10.5, 1000.5))
    .map(([t, ms]): Operation => async (state, locks) => {
      const lock = await state.acquireLock(t, ms)
      if (lock) locks.set(t, lock)
      return lock && [lock.threadId, lock.expiresAt]
    }),
  thread.map((t): Operation => async (state, locks) => {
    const lock = locks.get(t)
    return isSome(lock) ? state.releaseLock(lock) : undefined
  }),
  thread.map((t): Operation => async (state, locks) => {
    const lock = locks.get(t)
    return isSome(lock) ? state.extendLock(lock, 500.5) : undefined
  }),
  thread.map(
    (t): Operation =>
      (state) =>
        state.forceReleaseLock(t),
  ),
  key.map(
    (k): Operation =>
      (state) =>
        state.get(k),
  ),
  fc.tuple(key, fc.jsonValue(), ttl).map(
    ([k, v, ms]): Operation =>
      (state) =>
        state.set(k, v, ms),
  ),
  fc.tuple(key, fc.jsonValue(), ttl).map(
    ([k, v, ms]): Operation =>
      (state) =>
        state.setIfNotExists(k, v, ms),
  ),
  key.map(
    (k): Operation =>
      (state) =>
        state.delete(k),
  ),
  fc.tuple(key, fc.nat(), fc.constantFrom(undefined, 0, 2), ttl).map(
    ([k, v, maxLength, ttlMs]): Operation =>
      (state) =>
        state.appendToList(`list:${k}`, v, {
          ...(maxLength !== undefined && { maxLength }),
          ...(ttlMs !== undefined && { ttlMs }),
        }),
  ),
  key.map(
    (k): Operation =>
      (state) =>
        state.getList(`list:${k}`),
  ),
  key.map(
    (k): Operation =>
      (state) =>
        state.delete(`list:${k}`),
  ),
  fc.tuple(thread, fc.integer({ min: 0, max: 3 })).map(
    ([t, maxSize]): Operation =>
      (state) =>
        state.enqueue(
          t,
          { message: { id: maxSize } as never, enqueuedAt: 0, expiresAt: Date.now() + 60_000 },
          maxSize,
        ),
  ),
  thread.map(
    (t): Operation =>
      (state) =>
        state.dequeue(t),
  ),
  thread.map(
    (t): Operation =>
      (state) =>
        state.queueDepth(t),
  ),
)

const step = fc.record({ operation, ms: fc.constantFrom(0, 0, 1, 10, 600) })

test('answers like the in-memory adapter, whatever is asked in whatever order', async (t) => {
  const clock = stopClock(t)
  const store = await openTempStore(t, { synchronous: 'NORMAL' })
  let run = 0

  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      // It comes with a copy of Chat SDK of its own, whose types the compiler takes for others.
      const oracle = createMemoryState() as unknown as StateAdapter
      const state = asChatDeclares(new ChatState(store, { namespace: `run ${(run += 1)}` }))
      await oracle.connect()
      await state.connect()
      const oracleLocks = new Map<string, Held>()
      const locks = new Map<string, Held>()
      for (const { operation: ask, ms } of steps) {
        assert.deepEqual(await ask(state, locks), await ask(oracle, oracleLocks))
        clock.forward(ms)
      }
    }),
    { numRuns: 40 },
  )
})

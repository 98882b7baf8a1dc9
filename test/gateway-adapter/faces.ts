import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import type { Store } from '../../src/index.ts'

/** Everything an iterator gives. */
export async function all<T>(items: Iterable<T> | AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** The clock of the test, standing still until it is moved. */
export function stopClock(t: TestContext): { forward(ms: number): void } {
  t.mock.timers.enable({ apis: ['Date'], now: 1_750_000_000_000 })
  return { forward: (ms) => t.mock.timers.tick(ms) }
}

/** The counters say what is stored. */
export async function assertCounted(store: Store, sessionId: string): Promise<void> {
  const messages = await store.messages.list(sessionId)
  const calls = messages.flatMap(({ toolCalls }) => (Array.isArray(toolCalls) ? toolCalls : []))
  const { messageCount, toolCallCount } = await store.sessions.get(sessionId)
  assert.deepEqual([messageCount, toolCallCount], [messages.length, calls.length])
}

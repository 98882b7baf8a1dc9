import type { TestContext } from 'node:test'

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

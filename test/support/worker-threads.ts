import diagnostics from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { Worker } from 'node:worker_threads'

/** Every worker thread this process starts from now on, until the test has ended. */
export function startedWorkers(t: TestContext): Worker[] {
  const workers: Worker[] = []
  const collect = (message: unknown): void => {
    workers.push((message as { worker: Worker }).worker)
  }
  diagnostics.subscribe('worker_threads', collect)
  t.after(() => diagnostics.unsubscribe('worker_threads', collect))
  return workers
}

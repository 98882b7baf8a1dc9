import { Worker } from 'node:worker_threads'

import type { ReadAnswer, ReadTask } from './read-task.ts'

export interface ReadWorkerEvents {
  answered(answer: ReadAnswer): void
  /** `wasReady` tells a worker that died at work from one that could not even start. */
  ended(cause: unknown, wasReady: boolean): void
}

// The compiler rewrites imports, not this: from source it is a .ts file, from the package a .js file.
const script = new URL(
  import.meta.url.endsWith('.ts') ? './read-worker.ts' : './read-worker.js',
  import.meta.url,
)

/** One worker thread, as the pool sees it. */
export class ReadWorker {
  readonly #worker: Worker
  #isReady = false
  #isEnding = false

  constructor(path: string, events: ReadWorkerEvents) {
    let cause: unknown
    this.#worker = new Worker(script, { workerData: path, name: 'hermes-store-read' })
    this.#worker.on('message', (message: 'ready' | ReadAnswer) => {
      if (message === 'ready') {
        this.#isReady = true
        return
      }
      this.#worker.unref()
      events.answered(message)
    })
    this.#worker.on('error', (error) => {
      cause = error
    })
    this.#worker.on('messageerror', (error) => {
      cause = error
      void this.#worker.terminate()
    })
    this.#worker.on('exit', () => events.ended(cause, this.#isReady))
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  /** The process stays alive until the answer is there. */
  send(task: ReadTask): void {
    this.#worker.ref()
    this.#worker.postMessage(task)
  }

  /** Resolves when the thread is gone, which is when SQLite has come back from its current step. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#worker.unref()
    await this.#worker.terminate()
  }
}

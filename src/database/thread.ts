import { Worker } from 'node:worker_threads'

export interface ThreadEvents<Answer> {
  answered(answer: Answer): void
  /** `wasReady` tells a thread that died at work from one that could not even start. */
  ended(cause: unknown, wasReady: boolean): void
}

/** The platform has no thread to give, or it ended before its work was done. */
export class NoThread extends Error {
  constructor(cause: unknown) {
    super('no worker thread', { cause })
  }
}

/** The module of that name in this folder: a .ts file from source, a .js file from the package. */
function scriptNamed(name: string): URL {
  // The compiler rewrites imports, not this.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new URL(`./${name}.${extension}`, import.meta.url)
}

/**
 * One worker thread that says `ready` and then answers each task, in their order. It keeps the process
 * alive only while a task is unanswered.
 */
export class Thread<Task, Answer> {
  readonly #worker: Worker
  #unanswered = 0
  #isReady = false
  #isEnding = false

  /** @throws {NoThread} */
  constructor(script: string, data: unknown, events: ThreadEvents<Answer>) {
    let cause: unknown
    this.#worker = start(script, data)
    this.#worker.on('message', (message: 'ready' | Answer) => {
      if (message === 'ready') {
        this.#isReady = true
        return
      }
      this.#unanswered -= 1
      if (this.#unanswered === 0) this.#worker.unref()
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

  send(task: Task): void {
    this.#worker.postMessage(task)
    this.#unanswered += 1
    this.#worker.ref()
  }

  /** Resolves when the thread is gone, which is when SQLite has come back from its current step. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#worker.unref()
    await this.#worker.terminate()
  }
}

function start(script: string, workerData: unknown): Worker {
  try {
    return new Worker(scriptNamed(script), { workerData, name: `hermes-store-${script}` })
  } catch (error) {
    throw new NoThread(error)
  }
}

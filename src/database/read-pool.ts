import { ReadWorkerError, StoreClosedError } from '../errors.ts'
import type { Logger } from './logger.ts'
import type { ReadAnswer, ReadTask } from './read-task.ts'
import { receivedError } from './statement.ts'
import { Thread, type NoThread } from './thread.ts'

type ReadThread = Thread<ReadTask, ReadAnswer>

/** Two, so that a long check does not keep a search waiting. */
const WORKERS = 2
/** Cancelled ones whose native call has not come back yet; more than this and new tasks wait. */
const DYING_WORKERS = 2
/** A worker that dies is not asked a third time. */
const ATTEMPTS = 2

interface Job {
  readonly task: ReadTask
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (error: unknown) => void
  attempts: number
}

export interface ReadPoolParts {
  readonly path: string
  readonly logger: Logger
  /** Runs a task in this thread, where workers cannot be started. */
  readonly runHere: (task: ReadTask) => unknown[]
}

/**
 * Worker threads with read-only connections, for statements that may take longer than the event loop
 * can wait. The first is started by the first task; none keeps the process alive while it is idle.
 */
export class ReadPool {
  readonly #parts: ReadPoolParts
  readonly #waiting: Job[] = []
  readonly #workers = new Set<ReadThread>()
  readonly #jobs = new Map<ReadThread, Job>()
  #cannotStart = false
  #closed = false

  constructor(parts: ReadPoolParts) {
    this.#parts = parts
  }

  /**
   * The rows of one statement. An abort rejects at once with the signal's reason and ends the worker;
   * SQLite itself stops at the next row, and a step that makes none (a count, a check) runs on unseen.
   * @throws {ReadWorkerError} when the worker died, twice.
   */
  run(task: ReadTask, signal?: AbortSignal): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new StoreClosedError()
      signal?.throwIfAborted()
      const abort = (): void => this.#cancel(job, signal?.reason)
      const settled = (): void => signal?.removeEventListener('abort', abort)
      const job: Job = {
        task,
        attempts: 0,
        resolve: (rows) => (settled(), resolve(rows)),
        reject: (error) => (settled(), reject(error)),
      }
      signal?.addEventListener('abort', abort)
      this.#waiting.push(job)
      this.#dispatch()
    })
  }

  /** Rejects what is running or waiting and ends every worker. */
  async close(): Promise<void> {
    this.#closed = true
    const pending = [...this.#waiting.splice(0), ...this.#jobs.values()]
    this.#jobs.clear()
    for (const job of pending) job.reject(new StoreClosedError())
    await Promise.all(Array.from(this.#workers, (worker) => worker.end()))
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      if (this.#cannotStart) {
        this.#runHere(this.#waiting.shift()!)
        continue
      }
      const worker = this.#idleWorker()
      if (!worker) return
      const job = this.#waiting.shift()!
      job.attempts += 1
      this.#jobs.set(worker, job)
      worker.send(job.task)
    }
  }

  #idleWorker(): ReadThread | undefined {
    const usable = [...this.#workers].filter((worker) => !worker.isEnding)
    const idle = usable.find((worker) => !this.#jobs.has(worker))
    if (idle) return idle
    const dying = this.#workers.size - usable.length
    if (usable.length >= WORKERS || dying > DYING_WORKERS) return undefined
    return this.#start()
  }

  #start(): ReadThread | undefined {
    try {
      const worker: ReadThread = new Thread('read-worker', this.#parts.path, {
        answered: (answer) => this.#answered(worker, answer),
        ended: (cause, wasReady) => this.#ended(worker, cause, wasReady),
      })
      this.#workers.add(worker)
      return worker
    } catch (error) {
      this.#fallBack((error as NoThread).cause)
      this.#dispatch()
      return undefined
    }
  }

  #answered(worker: ReadThread, answer: ReadAnswer): void {
    const job = this.#jobs.get(worker)
    this.#jobs.delete(worker)
    if ('rows' in answer) job?.resolve(answer.rows)
    else job?.reject(receivedError(answer))
    this.#dispatch()
  }

  #ended(worker: ReadThread, cause: unknown, wasReady: boolean): void {
    this.#workers.delete(worker)
    const job = this.#jobs.get(worker)
    this.#jobs.delete(worker)
    if (!wasReady && !worker.isEnding) this.#fallBack(cause)
    if (job && (job.attempts < ATTEMPTS || this.#cannotStart)) this.#waiting.unshift(job)
    else job?.reject(new ReadWorkerError({ cause }))
    this.#dispatch()
  }

  #cancel(job: Job, reason: unknown): void {
    const place = this.#waiting.indexOf(job)
    if (place !== -1) this.#waiting.splice(place, 1)
    for (const [worker, running] of this.#jobs) {
      if (running !== job) continue
      this.#jobs.delete(worker)
      void worker.end()
    }
    job.reject(reason)
    this.#dispatch()
  }

  #fallBack(cause: unknown): void {
    if (this.#cannotStart) return
    this.#cannotStart = true
    this.#parts.logger.warn(
      { err: cause, path: this.#parts.path },
      'worker threads cannot be started here; long reads will run in the main thread and stall it',
    )
  }

  #runHere(job: Job): void {
    try {
      job.resolve(this.#parts.runHere(job.task))
    } catch (error) {
      job.reject(error)
    }
  }
}

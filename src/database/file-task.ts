import { Worker } from 'node:worker_threads'

import SqliteDatabase from 'better-sqlite3'

import type { FileProblem } from './check-file.ts'
import type { Logger } from './logger.ts'
import { performFileTask } from './perform-file-task.ts'

/** What is done with the whole file at once; `check` alone has an answer. */
export type FileTask =
  | { readonly kind: 'vacuum' | 'check'; readonly path: string }
  | { readonly kind: 'backup'; readonly path: string; readonly target: string }

export type FileTaskAnswer =
  | { readonly result: readonly FileProblem[] }
  | { readonly error: Error; readonly sqliteCode: string | undefined }

// The compiler rewrites imports, not this: from source it is a .ts file, from the package a .js file.
const script = new URL(
  import.meta.url.endsWith('.ts') ? './file-task-worker.ts' : './file-task-worker.js',
  import.meta.url,
)

/**
 * Runs the task in a thread of its own, or here, with a warning, where no thread can be started. An
 * abort rejects at once with the signal's reason; what SQLite is doing then goes on, unseen, until the
 * thread that `onThread` is told of has ended.
 * @throws the driver's own errors.
 */
export async function runFileTask(
  task: FileTask,
  logger: Logger,
  signal?: AbortSignal,
  onThread: (ended: Promise<void>) => void = () => {},
): Promise<readonly FileProblem[]> {
  signal?.throwIfAborted()
  const worker = start(task)
  if (worker instanceof Worker) {
    onThread(new Promise((resolve) => worker.once('exit', () => resolve())))
  }
  try {
    if (worker instanceof Worker) return await resultOf(worker, signal)
    throw new CannotStart(worker)
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error
    logger.warn(
      { err: error.cause, path: task.path },
      `a worker thread cannot be started here; ${task.kind} runs in the main thread and stalls it`,
    )
    return performFileTask(task)
  }
}

/** The worker, or why there is none. */
function start(task: FileTask): unknown {
  try {
    return new Worker(script, { workerData: task, name: `hermes-store-${task.kind}` })
  } catch (error) {
    return error
  }
}

async function resultOf(worker: Worker, signal?: AbortSignal): Promise<readonly FileProblem[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FileTaskAnswer>()
  let isStarted = false
  const abort = (): void => reject(signal?.reason)
  const failed = (cause: unknown): void => reject(isStarted ? cause : new CannotStart(cause))
  signal?.addEventListener('abort', abort)
  worker.on('message', (message: 'started' | FileTaskAnswer) => {
    if (message === 'started') isStarted = true
    else resolve(message)
  })
  worker.on('error', failed)
  worker.on('exit', (code) => failed(new Error(`the worker thread ended with ${code}`)))
  try {
    const answer = await promise
    if ('result' in answer) return answer.result
    if (answer.sqliteCode === undefined) throw answer.error
    throw new SqliteDatabase.SqliteError(answer.error.message, answer.sqliteCode)
  } finally {
    signal?.removeEventListener('abort', abort)
    worker.unref()
    void worker.terminate()
  }
}

class CannotStart extends Error {
  constructor(cause: unknown) {
    super('no worker thread', { cause })
  }
}

import type { FileProblem } from './check-file.ts'
import type { Logger } from './logger.ts'
import { performFileTask } from './perform-file-task.ts'
import { receivedError, type SentError } from './statement.ts'
import { NoThread, Thread } from './thread.ts'

/** What is done with the whole file at once; `check` alone has an answer. */
export type FileTask =
  | { readonly kind: 'vacuum' | 'check'; readonly path: string }
  | { readonly kind: 'backup'; readonly path: string; readonly target: string }

export type FileTaskAnswer = { readonly result: readonly FileProblem[] } | SentError

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
  try {
    return await runInThread(task, signal, onThread)
  } catch (error) {
    if (!(error instanceof NoThread)) throw error
    logger.warn(
      { err: error.cause, path: task.path },
      `a worker thread cannot be started here; ${task.kind} runs in the main thread and stalls it`,
    )
    return performFileTask(task)
  }
}

async function runInThread(
  task: FileTask,
  signal: AbortSignal | undefined,
  onThread: (ended: Promise<void>) => void,
): Promise<readonly FileProblem[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FileTaskAnswer>()
  const ended = Promise.withResolvers<void>()
  const thread = new Thread<FileTask, FileTaskAnswer>('file-task-worker', undefined, {
    answered: resolve,
    ended: (cause, wasReady) => {
      reject(wasReady ? (cause ?? new Error('the worker thread ended')) : new NoThread(cause))
      ended.resolve()
    },
  })
  onThread(ended.promise)
  thread.send(task)
  const abort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    const answer = await promise
    if ('result' in answer) return answer.result
    throw receivedError(answer)
  } finally {
    signal?.removeEventListener('abort', abort)
    void thread.end()
  }
}

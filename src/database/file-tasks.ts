import { StoreClosedError } from '../errors.ts'
import { backupFile, type BackupOptions } from './backup.ts'
import type { FileProblem } from './check-file.ts'
import { runFileTask, type FileTask } from './file-task.ts'
import type { Logger } from './logger.ts'

/** What one open store does with its whole file while everybody else goes on; ended by `close`. */
export class FileTasks {
  readonly #path: string
  readonly #logger: Logger
  readonly #closing = new AbortController()
  readonly #threads = new Set<Promise<unknown>>()

  constructor(path: string, logger: Logger) {
    this.#path = path
    this.#logger = logger
  }

  /** What is wrong with the file, read as a whole; empty when nothing is. */
  check(signal?: AbortSignal): Promise<readonly FileProblem[]> {
    return this.#run({ kind: 'check', path: this.#path }, signal)
  }

  /** See `backupFile`. */
  backup(target: string, options: BackupOptions): Promise<void> {
    return backupFile(this.#path, target, options, async (partial) => {
      await this.#run({ kind: 'backup', path: this.#path, target: partial }, options.signal)
    })
  }

  /** Rejects what is running. Resolves when SQLite has come back from it: nobody holds the file then. */
  async close(): Promise<void> {
    this.#closing.abort(new StoreClosedError())
    await Promise.all(this.#threads)
  }

  #run(task: FileTask, signal?: AbortSignal): Promise<readonly FileProblem[]> {
    const ends = [this.#closing.signal, ...(signal ? [signal] : [])]
    return runFileTask(task, this.#logger, AbortSignal.any(ends), (thread) => {
      this.#threads.add(thread)
      void thread.finally(() => this.#threads.delete(thread))
    })
  }
}

import { Kysely, type QueryResult } from 'kysely'

import { TransactionMisuseError, WriteWorkerError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { settingsOf, type Connection, type Synchronous } from './connection.ts'
import type { Logger } from './logger.ts'
import { toStoreError } from './sqlite-errors.ts'
import { receivedError } from './statement.ts'
import { ThreadDialect } from './thread-dialect.ts'
import { NoThread, Thread } from './thread.ts'
import { allowTogether } from './together.ts'
import type { Change } from './write-batch.ts'
import type { WriteAnswer, WriteTask, WriteWorkerData } from './write-worker.ts'

export interface LongWritesParts {
  readonly path: string
  /** The connection for all other writes: the one in the thread behaves as it. */
  readonly writer: Connection
  readonly synchronous: Synchronous
  readonly logger: Logger
  /** @throws {TransactionMisuseError} in the flow of a change that has ended. */
  readonly assertInScope: () => void
  /** Told after each statement how long it took, in milliseconds, the way there and back included. */
  readonly ran: (sql: string, tookMs: number) => void
}

interface Unanswered {
  readonly kind: WriteTask['kind']
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Transactions that take long, run by SQLite in a thread of its own while the event loop goes on. The
 * thread is started by the first of them. One at a time: whoever calls sees to that.
 */
export class LongWrites {
  readonly #parts: LongWritesParts
  readonly #db: Kysely<Database>
  readonly #unanswered: Unanswered[] = []
  #thread: Thread<WriteTask, WriteAnswer> | undefined
  #cannotStart: NoThread | undefined
  #inTransaction = false
  /** Why the transaction ended before its commit. */
  #lostTo: unknown

  constructor(parts: LongWritesParts) {
    this.#parts = parts
    this.#db = new Kysely({
      dialect: new ThreadDialect({
        assertUsable: parts.assertInScope,
        begin: () => this.#perform({ kind: 'begin', settings: settingsOf(parts.writer) }),
        perform: (task) => this.#perform(task),
      }),
    })
  }

  /**
   * Stores all that `change` does, or nothing.
   * @throws {NoThread} where there are none, or it died before the COMMIT: nothing is stored.
   * @throws {WriteWorkerError} when it died in the COMMIT.
   */
  run<T>(change: Change<T>): Promise<T> {
    return this.#db.transaction().execute((trx) => {
      allowTogether(trx, async (sql, parameterLists) => {
        const results = await this.#perform({ kind: 'run', sql, parameterLists })
        return results.map(({ insertId }) => Number(insertId))
      })
      return change(trx)
    })
  }

  async close(): Promise<void> {
    await this.#thread?.end()
  }

  async #perform(task: WriteTask): Promise<readonly QueryResult<unknown>[]> {
    if (task.kind === 'begin') this.#lostTo = undefined
    else if (!this.#inTransaction) {
      if (task.kind === 'rollback') return []
      throw this.#lostTo ?? new TransactionMisuseError('a statement ended the transaction')
    }
    const startedAt = performance.now()
    const answer = await this.#ask(task)
    if (task.kind === 'run') this.#parts.ran(task.sql, performance.now() - startedAt)
    this.#inTransaction = answer.inTransaction
    if ('results' in answer) return answer.results
    const error = toStoreError(receivedError(answer), this.#parts.path)
    if (!answer.inTransaction) this.#lostTo ??= error
    throw error
  }

  #ask(task: WriteTask): Promise<WriteAnswer> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#thread.send(task)
      this.#unanswered.push({ kind: task.kind, resolve, reject })
    })
  }

  #start(): Thread<WriteTask, WriteAnswer> {
    if (this.#cannotStart) throw this.#cannotStart
    const { path, synchronous } = this.#parts
    const data: WriteWorkerData = { path, synchronous }
    try {
      return new Thread('write-worker', data, {
        answered: (answer) => this.#unanswered.shift()?.resolve(answer),
        ended: (cause, wasReady) => this.#ended(cause, wasReady),
      })
    } catch (error) {
      throw this.#failedToStart(error as NoThread)
    }
  }

  #ended(cause: unknown, wasReady: boolean): void {
    const isClosing = this.#thread?.isEnding
    this.#thread = undefined
    const noThread = new NoThread(cause)
    if (this.#inTransaction) this.#lostTo ??= noThread
    this.#inTransaction = false
    if (!wasReady && !isClosing) this.#failedToStart(noThread)
    for (const { kind, reject } of this.#unanswered.splice(0)) {
      reject(kind === 'commit' ? new WriteWorkerError({ cause }) : noThread)
    }
  }

  #failedToStart(error: NoThread): NoThread {
    this.#cannotStart = error
    this.#parts.logger.warn(
      { err: error.cause, path: this.#parts.path },
      'worker threads cannot be started here; long writes will run in the main thread and stall it',
    )
    return error
  }
}

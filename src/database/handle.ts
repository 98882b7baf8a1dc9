import { AsyncLocalStorage } from 'node:async_hooks'

import { sql, type Kysely, type Transaction } from 'kysely'

import { TransactionMisuseError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import type { WriteHints } from './write-batch.ts'

/** What a repository works on: the whole store, or one open transaction of it. */
export interface Handle {
  readonly read: Kysely<Database>
  /**
   * For reads that may be slow (search, analytics, pages of an export): single statements, run in a
   * worker thread where the file is big, and aborted by `.execute({ signal })`. In a transaction it
   * is the transaction itself.
   */
  readonly heavy: Kysely<Database>
  /**
   * Everything `change` does is stored, or nothing of it. It may run more than once. In a transaction
   * hints mean nothing.
   */
  write<T>(change: (trx: Transaction<Database>) => Promise<T>, hints?: WriteHints<T>): Promise<T>
}

/**
 * The handle inside an open transaction. Each write is a savepoint of its own, so that a caller who
 * catches its error finds nothing half done; one after the other, because savepoints nest.
 */
export class TransactionHandle implements Handle {
  readonly read: Transaction<Database>
  readonly heavy: Transaction<Database>
  /** Whose write's callback this is: another write of the same handle would wait for itself. */
  static readonly #inside = new AsyncLocalStorage<TransactionHandle>()
  #last: Promise<unknown> = Promise.resolve()
  #pending = 0

  constructor(trx: Transaction<Database>) {
    this.read = trx
    this.heavy = trx
  }

  /** Whether a write that was asked for has not come to its end. */
  get isWriting(): boolean {
    return this.#pending > 0
  }

  async write<T>(change: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    if (TransactionHandle.#inside.getStore() === this) {
      throw new TransactionMisuseError('a write was asked for inside another; use its transaction')
    }
    this.#pending += 1
    const turn = this.#last
      .then(() => this.#inSavepoint(change))
      .finally(() => void (this.#pending -= 1))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #inSavepoint<T>(change: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    await sql`savepoint repository_write`.execute(this.read)
    try {
      const result = await TransactionHandle.#inside.run(this, () => change(this.read))
      await sql`release repository_write`.execute(this.read)
      return result
    } catch (error) {
      await this.#undo()
      throw error
    }
  }

  async #undo(): Promise<void> {
    try {
      await sql`rollback to repository_write`.execute(this.read)
      await sql`release repository_write`.execute(this.read)
    } catch {
      // SQLite has already rolled the whole transaction back (a full disk); the caller must see why,
      // not that the savepoint is gone.
    }
  }
}

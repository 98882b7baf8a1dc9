import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
} from 'kysely'

import { TransactionMisuseError } from '../errors.ts'

/** Runs one reading statement wherever it does not stall the event loop. */
export type RunHeavy = (query: CompiledQuery, signal?: AbortSignal) => Promise<unknown[]>

/** Single reading statements, each of which can be aborted: `.execute({ signal })`. */
export class HeavyDialect implements Dialect {
  readonly #run: RunHeavy

  constructor(run: RunHeavy) {
    this.#run = run
  }

  createDriver(): Driver {
    return new HeavyDriver(this.#run)
  }
  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler()
  }
  createAdapter(): SqliteAdapter {
    return new ConcurrentAdapter()
  }
  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db)
  }
}

class ConcurrentAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class HeavyDriver implements Driver {
  readonly #run: RunHeavy

  constructor(run: RunHeavy) {
    this.#run = run
  }

  async init(): Promise<void> {}
  async destroy(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return new HeavyConnection(this.#run)
  }
  async releaseConnection(): Promise<void> {}
  async beginTransaction(): Promise<void> {
    throw new TransactionMisuseError('a transaction cannot span several worker threads')
  }
  // Never called: no transaction begins.
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
}

class HeavyConnection implements DatabaseConnection {
  readonly #run: RunHeavy

  constructor(run: RunHeavy) {
    this.#run = run
  }

  async executeQuery<R>(
    query: CompiledQuery,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<QueryResult<R>> {
    const signal = options?.signal
    try {
      return { rows: (await this.#run(query, signal)) as R[] }
    } catch (error) {
      // Kysely has rejected with the signal's reason by itself; a second one it would only print.
      if (signal?.aborted) return { rows: [] }
      throw error
    }
  }

  streamQuery(): never {
    throw new TransactionMisuseError('a stream cannot cross a worker thread; page by key instead')
  }
}

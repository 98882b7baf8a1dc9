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
import type { WriteTask } from './write-worker.ts'

/** The connection in the other thread, as the dialect needs it. */
export interface ThreadConnection {
  /** Called before each query; throws when its caller has no right to it any more. */
  readonly assertUsable: () => void
  readonly begin: () => Promise<unknown>
  /** One result for a command or for each list of parameters. */
  readonly perform: (task: WriteTask) => Promise<readonly QueryResult<unknown>[]>
}

/** Transactions, one after the other, on a connection in another thread. Nothing else is run there. */
export class ThreadDialect implements Dialect {
  readonly #connection: ThreadConnection

  constructor(connection: ThreadConnection) {
    this.#connection = connection
  }

  createDriver(): Driver {
    return new ThreadDriver(this.#connection)
  }
  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler()
  }
  createAdapter(): SqliteAdapter {
    return new SqliteAdapter()
  }
  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db)
  }
}

class ThreadDriver implements Driver {
  readonly #connection: ThreadConnection

  constructor(connection: ThreadConnection) {
    this.#connection = connection
  }

  async init(): Promise<void> {}
  async destroy(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return new ThreadLease(this.#connection)
  }
  async releaseConnection(lease: DatabaseConnection): Promise<void> {
    ;(lease as ThreadLease).end()
  }
  async beginTransaction(): Promise<void> {
    await this.#connection.begin()
  }
  async commitTransaction(): Promise<void> {
    await this.#connection.perform({ kind: 'commit' })
  }
  async rollbackTransaction(): Promise<void> {
    await this.#connection.perform({ kind: 'rollback' })
  }
}

/** One transaction's use of the connection. A statement after that is refused. */
class ThreadLease implements DatabaseConnection {
  readonly #connection: ThreadConnection
  #ended = false

  constructor(connection: ThreadConnection) {
    this.#connection = connection
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    this.#connection.assertUsable()
    if (this.#ended) {
      throw new TransactionMisuseError(
        'a query was started after its transaction had ended; await every query inside the callback',
      )
    }
    const [result] = await this.#connection.perform({
      kind: 'run',
      sql,
      parameterLists: [parameters],
    })
    return result as QueryResult<R>
  }

  streamQuery(): never {
    throw new TransactionMisuseError('a stream cannot cross a worker thread; page by key instead')
  }

  end(): void {
    this.#ended = true
  }
}

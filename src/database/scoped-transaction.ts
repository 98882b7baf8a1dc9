import {
  DummyDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  Transaction,
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  type Dialect,
  type KyselyPlugin,
  type QueryExecutor,
  type QueryId,
  type QueryResult,
  type RootOperationNode,
} from 'kysely'

import { TransactionMisuseError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { TransactionHandle } from './handle.ts'

/** One caller's part of a transaction; others' parts may come after it in the same one. */
interface Scope {
  ended: boolean
}

/**
 * Runs `work` on a handle that is good until `work` has settled: whatever is asked of it later is
 * refused, whoever kept it and although the transaction itself may still be open for others.
 * @throws {TransactionMisuseError} when a write was not awaited: it may be half done.
 */
export async function withinScope<T>(
  trx: Transaction<Database>,
  work: (handle: TransactionHandle) => Promise<T>,
): Promise<T> {
  const scope: Scope = { ended: false }
  const handle = new TransactionHandle(new ScopedTransaction(trx, scope))
  try {
    const result = await work(handle)
    if (handle.isWriting) {
      throw new TransactionMisuseError('a write was not awaited inside its transaction')
    }
    return result
  } finally {
    scope.ended = true
  }
}

/** Kysely's transaction with its misuse told in our own error. */
class ScopedTransaction extends Transaction<Database> {
  constructor(trx: Transaction<Database>, scope: Scope) {
    const executor = new ScopedExecutor(trx.getExecutor(), scope)
    super({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
  }
  override transaction(): never {
    throw new TransactionMisuseError('a transaction cannot begin inside another')
  }
  override startTransaction(): never {
    return this.transaction()
  }
  override connection(): never {
    throw new TransactionMisuseError('inside a transaction there is no other connection')
  }
  override destroy(): never {
    throw new TransactionMisuseError('a transaction ends with its callback')
  }
}

/** Only asked for the introspector: a transaction has its connection already. */
const dialect: Dialect = {
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createDriver: () => new DummyDriver(),
  createAdapter: () => {
    throw new TransactionMisuseError('a transaction has its adapter already')
  },
}

class ScopedExecutor implements QueryExecutor {
  readonly #inner: QueryExecutor
  readonly #scope: Scope

  constructor(inner: QueryExecutor, scope: Scope) {
    this.#inner = inner
    this.#scope = scope
  }

  get adapter() {
    return this.#inner.adapter
  }
  get plugins() {
    return this.#inner.plugins
  }
  transformQuery<T extends RootOperationNode>(node: T, queryId: QueryId): T {
    return this.#inner.transformQuery(node, queryId)
  }
  compileQuery<R>(node: RootOperationNode, queryId: QueryId): CompiledQuery<R> {
    return this.#inner.compileQuery(node, queryId)
  }
  async executeQuery<R>(
    query: CompiledQuery<R>,
    options?: Parameters<QueryExecutor['executeQuery']>[1],
  ): Promise<QueryResult<R>> {
    this.#assertOpen()
    return this.#inner.executeQuery(query, options)
  }
  async *stream<R>(
    query: CompiledQuery<R>,
    chunkSize: number,
    options?: Parameters<QueryExecutor['stream']>[2],
  ): AsyncIterableIterator<QueryResult<R>> {
    this.#assertOpen()
    for await (const rows of this.#inner.stream<R>(query, chunkSize, options)) {
      yield rows
      this.#assertOpen()
    }
  }
  async provideConnection<T>(
    consumer: (connection: DatabaseConnection) => Promise<T>,
    options?: Parameters<ConnectionProvider['provideConnection']>[1],
  ): Promise<T> {
    this.#assertOpen()
    return this.#inner.provideConnection(consumer, options)
  }
  withConnectionProvider(provider: ConnectionProvider): QueryExecutor {
    return this.#around(this.#inner.withConnectionProvider(provider))
  }
  withPlugin(plugin: KyselyPlugin): QueryExecutor {
    return this.#around(this.#inner.withPlugin(plugin))
  }
  withPlugins(plugins: readonly KyselyPlugin[]): QueryExecutor {
    return this.#around(this.#inner.withPlugins(plugins))
  }
  withPluginAtFront(plugin: KyselyPlugin): QueryExecutor {
    return this.#around(this.#inner.withPluginAtFront(plugin))
  }
  withoutPlugins(): QueryExecutor {
    return this.#around(this.#inner.withoutPlugins())
  }

  #around(inner: QueryExecutor): QueryExecutor {
    return new ScopedExecutor(inner, this.#scope)
  }

  #assertOpen(): void {
    if (!this.#scope.ended) return
    throw new TransactionMisuseError(
      'a query was started after its transaction had ended; await every query inside the callback',
    )
  }
}

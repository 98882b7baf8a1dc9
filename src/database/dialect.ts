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
  type TransactionSettings,
} from 'kysely'

import { TransactionMisuseError } from '../errors.ts'
import type { Connection } from './connection.ts'
import { execute } from './statement.ts'

/** What the dialect needs from its surroundings. */
export interface ConnectionSource {
  /** The connection for single statements. */
  readonly shared: () => Connection
  /**
   * A connection of its own for what spans several statements: a transaction or a stream. The
   * writer gives its only one and is handed it back by `release`.
   */
  readonly dedicated: () => Connection
  readonly release: (connection: Connection) => void
  /** Called before each query; throws when its caller has no right to it any more. */
  readonly assertUsable: () => void
  /** Runs one statement outside of a transaction; here readers wait for a busy file. */
  readonly run: <T>(statement: () => T) => Promise<T>
  readonly toError: (error: unknown) => unknown
  readonly rollbackFailed: (error: unknown) => void
  /** Told after each statement how long it took, in milliseconds. */
  readonly ran: (sql: string, tookMs: number) => void
}

export interface DialectOptions {
  /** The transaction a plain `transaction()` begins. */
  readonly begin: 'begin' | 'begin immediate'
  /** Whether queries may run while a transaction or a stream of the same instance is open. */
  readonly concurrent: boolean
}

/** Kysely's SQLite dialect with transactional DDL and our own driver. */
export class StoreDialect implements Dialect {
  readonly #source: ConnectionSource
  readonly #options: DialectOptions

  constructor(source: ConnectionSource, options: DialectOptions) {
    this.#source = source
    this.#options = options
  }

  createDriver(): Driver {
    return new StoreDriver(this.#source, this.#options)
  }
  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler()
  }
  createAdapter(): SqliteAdapter {
    return new StoreAdapter(this.#options.concurrent)
  }
  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db)
  }
}

class StoreAdapter extends SqliteAdapter {
  readonly #concurrent: boolean

  constructor(concurrent: boolean) {
    super()
    this.#concurrent = concurrent
  }
  override get supportsMultipleConnections(): boolean {
    return this.#concurrent
  }
  /** SQLite's DDL is transactional, FTS5 tables and triggers included. */
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class StoreDriver implements Driver {
  readonly #source: ConnectionSource
  readonly #begin: DialectOptions['begin']

  constructor(source: ConnectionSource, options: DialectOptions) {
    this.#source = source
    this.#begin = options.begin
  }

  async init(): Promise<void> {}
  /** It would leave a store behind of which half works. */
  async destroy(): Promise<void> {
    throw new TransactionMisuseError('the connection is closed by store.close() only')
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    // Fails here, not in the first statement, when the store is closed.
    this.#source.shared()
    return new Lease(this.#source)
  }
  async releaseConnection(lease: DatabaseConnection): Promise<void> {
    asLease(lease).end()
  }
  async beginTransaction(lease: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    await asLease(lease).begin(settings.accessMode === 'read only' ? 'begin' : this.#begin)
  }
  async commitTransaction(lease: DatabaseConnection): Promise<void> {
    asLease(lease).control('commit')
  }
  async rollbackTransaction(lease: DatabaseConnection): Promise<void> {
    asLease(lease).rollback()
  }
  async savepoint(lease: DatabaseConnection, name: string): Promise<void> {
    asLease(lease).control(`savepoint ${quoted(name)}`)
  }
  async rollbackToSavepoint(lease: DatabaseConnection, name: string): Promise<void> {
    asLease(lease).control(`rollback to ${quoted(name)}`)
  }
  async releaseSavepoint(lease: DatabaseConnection, name: string): Promise<void> {
    asLease(lease).control(`release ${quoted(name)}`)
  }
}

/** One caller's use of a connection, from acquire to release. A statement after that is refused. */
class Lease implements DatabaseConnection {
  readonly #source: ConnectionSource
  #own: Connection | undefined
  /** Why the transaction ended before its commit; without it later statements would commit by themselves. */
  #lostTo: unknown
  #ended = false

  constructor(source: ConnectionSource) {
    this.#source = source
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    this.#assertOpen()
    const own = this.#own
    try {
      return await this.#source.run(() =>
        own
          ? this.#inTransaction(own, () => this.#execute<R>(own, query))
          : this.#execute<R>(this.#source.shared(), query),
      )
    } catch (error) {
      throw this.#source.toError(error)
    }
  }

  #execute<R>(connection: Connection, query: CompiledQuery): QueryResult<R> {
    const startedAt = performance.now()
    try {
      return execute<R>(connection, query)
    } finally {
      this.#source.ran(query.sql, performance.now() - startedAt)
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    this.#assertOpen()
    const owned = this.#own
    const connection = owned ?? (await this.#dedicated())
    let rows: IterableIterator<unknown> | undefined
    try {
      // A lock can be in the way of the first row only: from then on there is a snapshot.
      const started = await this.#source.run(() => firstRow(connection, query))
      rows = started.rows
      for (let row = started.first; !row.done; row = rows.next()) yield { rows: [row.value as R] }
    } catch (error) {
      throw this.#source.toError(error)
    } finally {
      rows?.return?.()
      if (!owned) this.#source.release(connection)
    }
  }

  async begin(command: string): Promise<void> {
    const own = await this.#dedicated()
    this.#own = own
    try {
      own.statements.get(command).run()
    } catch (error) {
      throw this.#source.toError(error)
    }
  }

  control(command: string): void {
    const own = this.#own
    if (!own) throw new TransactionMisuseError(`${command} outside of a transaction`)
    try {
      this.#inTransaction(own, () => own.statements.get(command).run())
    } catch (error) {
      throw this.#source.toError(error)
    }
  }

  /** Opening one can meet a lock, too. */
  async #dedicated(): Promise<Connection> {
    try {
      return await this.#source.run(() => this.#source.dedicated())
    } catch (error) {
      throw this.#source.toError(error)
    }
  }

  #inTransaction<T>(own: Connection, statement: () => T): T {
    if (!own.raw.inTransaction) {
      throw this.#lostTo ?? new TransactionMisuseError('a statement ended the transaction')
    }
    try {
      return statement()
    } catch (error) {
      if (!own.raw.inTransaction) this.#lostTo ??= this.#source.toError(error)
      throw error
    }
  }

  /**
   * SQLite rolls back by itself on some errors (a full disk). Whatever the rollback says, the error
   * that led to it is the one the caller must see.
   */
  rollback(): void {
    if (!this.#own?.raw.inTransaction) return
    try {
      this.#own.raw.exec('rollback')
    } catch (error) {
      this.#source.rollbackFailed(error)
    }
  }

  end(): void {
    this.#ended = true
    if (!this.#own) return
    this.#source.release(this.#own)
    this.#own = undefined
  }

  #assertOpen(): void {
    this.#source.assertUsable()
    if (!this.#ended) return
    throw new TransactionMisuseError(
      'a query was started after its transaction had ended; await every query inside the callback',
    )
  }
}

/** Not from the cache: a statement cannot be shared while it iterates. */
function firstRow({ raw }: Connection, query: CompiledQuery) {
  const rows = raw.prepare(query.sql).iterate(query.parameters)
  return { rows, first: rows.next() }
}

function asLease(connection: DatabaseConnection): Lease {
  return connection as Lease
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

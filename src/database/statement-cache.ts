import type { Database as Connection, Statement } from 'better-sqlite3'

import { prepareSearch } from './search-functions.ts'

/**
 * Keeps the most recently used prepared statements of one connection by their SQL text.
 * Preparing anew costs more than most queries, and the driver frees dead statements so late that
 * memory grows without bound in a tight loop.
 */
export class StatementCache {
  readonly #connection: Connection
  readonly #capacity: number
  readonly #statements = new Map<string, Statement>()

  constructor(connection: Connection, capacity = 256) {
    this.#connection = connection
    this.#capacity = capacity
  }

  /** A statement that nobody is iterating; the caller must finish with it before it yields. */
  get(sql: string): Statement {
    const cached = this.#statements.get(sql)
    if (cached?.busy) return prepareSearch(this.#connection, sql)
    if (cached) {
      this.#statements.delete(sql)
      this.#statements.set(sql, cached)
      return cached
    }
    const statement = prepareSearch(this.#connection, sql)
    this.#statements.set(sql, statement)
    if (this.#statements.size > this.#capacity) {
      const oldest = this.#statements.keys().next().value
      if (oldest !== undefined) this.#statements.delete(oldest)
    }
    return statement
  }
}

import type { Connection } from './connection.ts'
import type { SentError, Statement } from './statement.ts'

/** One statement for a read worker. */
export type ReadTask = Statement

/** What a worker sends back. */
export type ReadAnswer = { readonly rows: unknown[] } | SentError

/** Row by row, because between two rows a worker thread can be ended and inside `all` it cannot. */
export function readRows(connection: Connection, { sql, parameters }: ReadTask): unknown[] {
  const statement = connection.statements.get(sql)
  if (statement.reader) return Array.from(statement.iterate(parameters))
  // A write, which the connection refuses.
  statement.run(parameters)
  return []
}

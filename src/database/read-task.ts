import type { Connection } from './connection.ts'

/** One statement for a read worker. */
export interface ReadTask {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** What a worker sends back; an error loses its class on the way, so its SQLite code travels beside it. */
export type ReadAnswer =
  | { readonly rows: unknown[] }
  | { readonly error: Error; readonly sqliteCode: string | undefined }

/** Row by row, because between two rows a worker thread can be ended and inside `all` it cannot. */
export function readRows(connection: Connection, { sql, parameters }: ReadTask): unknown[] {
  const statement = connection.statements.get(sql)
  if (statement.reader) return Array.from(statement.iterate(parameters))
  // A write, which the connection refuses.
  statement.run(parameters)
  return []
}

import SqliteDatabase from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'

import type { Connection } from './connection.ts'
import { sqliteCode } from './sqlite-errors.ts'

/** What one statement needs to run, in whichever thread. */
export type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>

/** An error as it crosses a thread: it loses its class on the way, so its SQLite code travels beside it. */
export interface SentError {
  readonly error: Error
  readonly sqliteCode: string | undefined
}

export function execute<R>(connection: Connection, query: Statement): QueryResult<R> {
  const statement = connection.statements.get(query.sql)
  if (statement.reader) return { rows: statement.all(query.parameters) as R[] }
  const { changes, lastInsertRowid } = statement.run(query.parameters)
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
}

export function sentError(error: unknown): SentError {
  return { error: error as Error, sqliteCode: sqliteCode(error) }
}

/** The error as the driver threw it in the other thread. */
export function receivedError({ error, sqliteCode: code }: SentError): unknown {
  return code === undefined ? error : new SqliteDatabase.SqliteError(error.message, code)
}

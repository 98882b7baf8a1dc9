// Runs in a worker thread: a writing connection of its own, for transactions that take long.
import { parentPort, workerData } from 'node:worker_threads'

import type { QueryResult } from 'kysely'

import {
  applySettings,
  connectWriter,
  type Connection,
  type ConnectionSettings,
  type Synchronous,
} from './connection.ts'
import { execute, sentError, type SentError } from './statement.ts'

export interface WriteWorkerData {
  readonly path: string
  readonly synchronous: Synchronous
}

/** `run` has one result for each list of parameters. */
export type WriteTask =
  | { readonly kind: 'begin'; readonly settings: ConnectionSettings }
  | { readonly kind: 'commit' | 'rollback' }
  | {
      readonly kind: 'run'
      readonly sql: string
      readonly parameterLists: readonly (readonly unknown[])[]
    }

export type WriteAnswer = { readonly inTransaction: boolean } & (
  | { readonly results: readonly QueryResult<unknown>[] }
  | SentError
)

let connection: Connection | undefined

parentPort?.on('message', (task: WriteTask) => parentPort?.postMessage(answer(task)))
parentPort?.postMessage('ready')

function answer(task: WriteTask): WriteAnswer {
  const inTransaction = (): boolean => connection?.raw.inTransaction ?? false
  try {
    const { path, synchronous } = workerData as WriteWorkerData
    connection ??= connectWriter(path, synchronous)
    const results = perform(connection, task)
    return { results, inTransaction: inTransaction() }
  } catch (error) {
    return { ...sentError(error), inTransaction: inTransaction() }
  }
}

function perform(writer: Connection, task: WriteTask): QueryResult<unknown>[] {
  if (task.kind === 'begin') applySettings(writer, task.settings)
  if (task.kind === 'run') {
    const { sql, parameterLists } = task
    return parameterLists.map((parameters) => execute(writer, { sql, parameters }))
  }
  const sql = task.kind === 'begin' ? 'begin immediate' : task.kind
  return [execute(writer, { sql, parameters: [] })]
}

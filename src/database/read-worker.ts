// Runs in a worker thread: one read-only connection, one statement at a time.
import { parentPort, workerData } from 'node:worker_threads'

import { connectReader, type Connection } from './connection.ts'
import { readRows, type ReadAnswer, type ReadTask } from './read-task.ts'
import { sentError } from './statement.ts'

let connection: Connection | undefined

parentPort?.on('message', (task: ReadTask) => parentPort?.postMessage(answer(task)))
parentPort?.postMessage('ready')

function answer(task: ReadTask): ReadAnswer {
  try {
    // Not at the start: a file that cannot be opened is a query's error, not a broken worker.
    connection ??= connectReader(workerData as string)
    return { rows: readRows(connection, task) }
  } catch (error) {
    return sentError(error)
  }
}

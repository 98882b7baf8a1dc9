// Runs in a worker thread of its own, for one task that takes as long as the file is big.
import { parentPort, workerData } from 'node:worker_threads'

import type { FileTask, FileTaskAnswer } from './file-task.ts'
import { performFileTask } from './perform-file-task.ts'
import { sqliteCode } from './sqlite-errors.ts'

parentPort?.postMessage('started')
parentPort?.postMessage(await answer(workerData as FileTask))

async function answer(task: FileTask): Promise<FileTaskAnswer> {
  try {
    return { result: await performFileTask(task) }
  } catch (error) {
    return { error: error as Error, sqliteCode: sqliteCode(error) }
  }
}

// Runs in a worker thread of its own, for one task that takes as long as the file is big.
import { parentPort } from 'node:worker_threads'

import type { FileTask, FileTaskAnswer } from './file-task.ts'
import { performFileTask } from './perform-file-task.ts'
import { sentError } from './statement.ts'

parentPort?.on('message', (task: FileTask) => {
  void answer(task).then((given) => parentPort?.postMessage(given))
})
parentPort?.postMessage('ready')

async function answer(task: FileTask): Promise<FileTaskAnswer> {
  try {
    return { result: await performFileTask(task) }
  } catch (error) {
    return sentError(error)
  }
}

// Runs in a worker thread of its own: VACUUM is one statement that takes as long as the file is big.
import { parentPort, workerData } from 'node:worker_threads'

import SqliteDatabase from 'better-sqlite3'

import { sqliteCode } from './sqlite-errors.ts'

/** Here nobody minds standing still until another connection lets go of its lock. */
const LOCK_TIMEOUT_MS = 10_000

function vacuum(path: string): void {
  const raw = new SqliteDatabase(path, { fileMustExist: true, timeout: LOCK_TIMEOUT_MS })
  try {
    raw.exec('vacuum')
    // Only a checkpoint takes the new, smaller file out of the WAL.
    raw.pragma('wal_checkpoint(PASSIVE)')
  } finally {
    raw.close()
  }
}

try {
  vacuum(workerData as string)
  parentPort?.postMessage(undefined)
} catch (error) {
  parentPort?.postMessage({ message: (error as Error).message, sqliteCode: sqliteCode(error) })
}

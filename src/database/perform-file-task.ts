import SqliteDatabase from 'better-sqlite3'

import { checkFile, type FileProblem } from './check-file.ts'
import type { FileTask } from './file-task.ts'

/** Here nobody minds standing still until another connection lets go of its lock. */
const LOCK_TIMEOUT_MS = 10_000
const ALL_PAGES = 0x7fffffff

/** One task on a connection of its own, in whichever thread it is called. */
export async function performFileTask(task: FileTask): Promise<readonly FileProblem[]> {
  const raw = new SqliteDatabase(task.path, {
    fileMustExist: true,
    readonly: task.kind !== 'vacuum',
    timeout: LOCK_TIMEOUT_MS,
  })
  try {
    if (task.kind === 'check') return checkFile(raw)
    if (task.kind === 'backup') {
      // All pages in one step: between two steps a writer could make it start over, for ever.
      await raw.backup(task.target, { progress: () => ALL_PAGES })
      return []
    }
    raw.exec('vacuum')
    // Only a checkpoint takes the new, smaller file out of the WAL.
    raw.pragma('wal_checkpoint(PASSIVE)')
    return []
  } finally {
    raw.close()
  }
}

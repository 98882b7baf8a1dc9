import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

import SqliteDatabase from 'better-sqlite3'

// The compiler rewrites imports, not this: from source it is a .ts file, from the package a .js file.
const script = new URL(
  import.meta.url.endsWith('.ts') ? './vacuum-worker.ts' : './vacuum-worker.js',
  import.meta.url,
)

/** Rewrites the file without its free pages, in another thread. Nobody can write meanwhile. */
export async function vacuumFile(path: string): Promise<void> {
  const worker = new Worker(script, { workerData: path, name: 'hermes-store-vacuum' })
  const [failure] = (await once(worker, 'message')) as [Failure | undefined]
  if (!failure) return
  if (failure.sqliteCode === undefined) throw new Error(failure.message)
  throw new SqliteDatabase.SqliteError(failure.message, failure.sqliteCode)
}

interface Failure {
  readonly message: string
  readonly sqliteCode: string | undefined
}

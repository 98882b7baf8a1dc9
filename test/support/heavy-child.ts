// Reads a big file in a worker thread, says how that went, and ends without closing anything.
import diagnostics from 'node:diagnostics_channel'

import { sql } from 'kysely'

import { retryPolicy } from '../../src/database/busy-retry.ts'
import { connectReader } from '../../src/database/connection.ts'
import { silentLogger } from '../../src/database/logger.ts'
import { StoreDatabase } from '../../src/database/store-database.ts'

const [file = ''] = process.argv.slice(2)
let workers = 0
let warnings = 0
diagnostics.subscribe('worker_threads', () => void (workers += 1))
const database = new StoreDatabase({
  path: file,
  reader: connectReader(file),
  writer: undefined,
  synchronous: 'FULL',
  refusal: undefined,
  retry: retryPolicy(),
  logger: { ...silentLogger, warn: () => void (warnings += 1) },
})
await sql`select 1`.execute(database.heavy)
const { rows } = await sql`select 2`.execute(database.heavy)
console.log(JSON.stringify({ rows: rows.length, workers, warnings }))

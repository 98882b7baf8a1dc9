import type { TestContext } from 'node:test'

import { retryPolicy } from '../../src/database/busy-retry.ts'
import { connectReader, connectWriter } from '../../src/database/connection.ts'
import { silentLogger } from '../../src/database/logger.ts'
import { StoreDatabase } from '../../src/database/store-database.ts'
import { withFile } from './state-file.ts'

/**
 * The database under a store on a file in rollback mode, where readers and writers shut each other
 * out. `openStore` would put the file into WAL mode on any file system of a test machine.
 */
export function openInRollbackMode(t: TestContext, file: string): StoreDatabase {
  withFile(file, (db) => db.pragma('journal_mode = delete'))
  const database = new StoreDatabase({
    path: file,
    reader: connectReader(file),
    writer: connectWriter(file, 'FULL'),
    synchronous: 'FULL',
    refusal: undefined,
    retry: retryPolicy(),
    logger: silentLogger,
  })
  t.after(() => database.close())
  return database
}

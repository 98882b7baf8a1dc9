import path from 'node:path'
import type { TestContext } from 'node:test'

import { retryPolicy, type RetryOptions } from '../../src/database/busy-retry.ts'
import { connectReader, connectWriter } from '../../src/database/connection.ts'
import { silentLogger, type Logger } from '../../src/database/logger.ts'
import { StoreDatabase } from '../../src/database/store-database.ts'
import { openStore } from '../../src/index.ts'
import { tempFolder } from './temp-store.ts'

export interface OpenDatabaseOptions {
  /** Bytes the file has at least; 0 is as small as a new store. */
  readonly bytes?: number
  readonly logger?: Logger
  readonly retry?: RetryOptions
  /** The most pages the file may have: a full disk. */
  readonly maxPages?: number
}

/** The database under a store, with its schema; closed, and the file removed, after the test. */
export async function openTempDatabase(
  t: TestContext,
  { bytes = 0, logger = silentLogger, retry, maxPages }: OpenDatabaseOptions = {},
): Promise<StoreDatabase> {
  const file = path.join(tempFolder(t), 'state.db')
  const store = await openStore({ path: file })
  if (bytes > 0) await store.meta.set('padding', 'x'.repeat(bytes))
  await store.close()
  const writer = connectWriter(file, 'FULL')
  if (maxPages !== undefined) writer.raw.pragma(`max_page_count = ${maxPages}`)
  const database = new StoreDatabase({
    path: file,
    reader: connectReader(file),
    writer,
    synchronous: 'FULL',
    refusal: undefined,
    retry: retryPolicy(retry),
    logger,
  })
  t.after(() => database.close())
  return database
}

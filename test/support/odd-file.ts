import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { openStore } from '../../src/index.ts'
import type { MigrationEvent } from '../../src/index.ts'
import { copyFixture, withFile } from './state-file.ts'

/** Opens the file once, closes it, and returns what the runner told. */
export async function heal(file: string): Promise<MigrationEvent[]> {
  const events: MigrationEvent[] = []
  const store = await openStore({ path: file, onProgress: (event) => void events.push(event) })
  assert.equal(store.schemaVersion, 11)
  await store.close()
  return events
}

/** A copy of a fixture, changed by SQL. */
export function shaped(t: TestContext, fixture: string, ddl: string): string {
  const file = copyFixture(t, fixture)
  withFile(file, (db) => db.exec(ddl))
  return file
}

export function allRows(file: string, query: string): unknown[] {
  return withFile(file, (db) => db.prepare(query).raw().all())
}

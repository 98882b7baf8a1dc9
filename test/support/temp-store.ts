import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'

import { openStore } from '../../src/index.ts'
import type { OpenStoreOptions, Store } from '../../src/index.ts'

/** A folder that is gone when the test has ended. */
export function tempFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'hermes-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A store on a new file of its own; closed, and the file removed, when the test has ended. */
export async function openTempStore(
  t: TestContext,
  options: Omit<OpenStoreOptions, 'path'> = {},
): Promise<Store> {
  const folder = mkdtempSync(path.join(tmpdir(), 'hermes-test-'))
  const store = await openStore({ ...options, path: path.join(folder, 'state.db') })
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'

import { openStore, StorageIoError } from '../../src/index.ts'
import type { Logger, Store } from '../../src/index.ts'
import { addMeta, assertComplete, copyFixture, withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const options = { skip: process.platform === 'win32' && 'NOT TESTED: needs mkfifo' }

/**
 * A file system that cannot carry WAL: where the index in shared memory should be stands a pipe, which
 * has no size. SQLite reports the same "disk I/O error" as on FUSE or SMB.
 */
function forbidWal(file: string): void {
  execFileSync('mkfifo', [`${file}-shm`])
}

function newPath(t: TestContext): string {
  const file = path.join(tempFolder(t), 'state.db')
  forbidWal(file)
  return file
}

async function openCounting(file: string): Promise<{ store: Store; warnings: string[] }> {
  const warnings: string[] = []
  const silent = (): void => {}
  const logger: Logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (_, message) => void warnings.push(message),
  }
  return { store: await openStore({ path: file, logger }), warnings }
}

function journalModeOf(file: string): unknown {
  return withFile(file, (db) => db.pragma('journal_mode', { simple: true }))
}

test(
  'where WAL cannot be, a new file is made in rollback mode with one warning',
  options,
  async (t) => {
    const file = newPath(t)

    const { store, warnings } = await openCounting(file)
    await addMeta(store)
    await store.close()

    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /cannot carry WAL/)
    assert.equal(journalModeOf(file), 'delete')
    assertComplete(file)
  },
)

test('the warning comes once a file and process', options, async (t) => {
  const file = newPath(t)
  await (await openStore({ path: file })).close()

  const { store, warnings } = await openCounting(file)
  await store.close()

  assert.deepEqual(warnings, [])
})

test('an old file in rollback mode is upgraded there', options, async (t) => {
  const file = copyFixture(t, 'v8')
  withFile(file, (db) => db.pragma('journal_mode = delete'))
  forbidWal(file)

  await (await openStore({ path: file })).close()

  assert.equal(journalModeOf(file), 'delete')
  assertComplete(file)
})

test('two stores write to one file in rollback mode', options, async (t) => {
  const file = newPath(t)
  await using one = await openStore({ path: file })
  await using other = await openStore({ path: file })

  await Promise.all(Array.from({ length: 40 }, (_, n) => addMeta(n % 2 ? one : other)))

  const { rows } = await one.db
    .selectFrom('state_meta')
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow()
  assert.equal(rows, 40)
})

test('a file that is in WAL mode already stays in it', options, async (t) => {
  const file = copyFixture(t, 'v11')
  forbidWal(file)

  await assert.rejects(openStore({ path: file }), StorageIoError)

  execFileSync('rm', [`${file}-shm`])
  assert.equal(journalModeOf(file), 'wal')
})

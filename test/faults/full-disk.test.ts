import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'

import { openStore, StorageFullError, StorageIoError, type Store } from '../../src/index.ts'
import { openTempDatabase } from '../support/open-database.ts'

/** A folder on a file system of three megabytes; undefined where it cannot be mounted. */
function tinyDisk(t: TestContext): string | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), 'hermes-test-'))
  const mount = ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder]
  const isMounted = process.platform === 'linux' && spawnSync('mount', mount).status === 0
  t.after(() => {
    if (isMounted) spawnSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return isMounted ? folder : undefined
}

async function fill(store: Store): Promise<{ stored: number; failure: unknown }> {
  for (let stored = 0; ; stored += 1) {
    try {
      await store.messages.append('s', { role: 'user', content: 'x'.repeat(50_000) })
    } catch (failure) {
      return { stored, failure }
    }
  }
}

test('a full disk is a typed error; what was acknowledged stays, and writing goes on with space', async (t) => {
  const folder = tinyDisk(t)
  if (!folder) return t.skip('NOT TESTED: needs the right to mount a tmpfs')
  const file = path.join(folder, 'state.db')
  const store = await openStore({ path: file })
  await store.sessions.ensure('s', { source: 'cli' })

  const { stored, failure } = await fill(store)
  const count = await store.messages.count('s')
  spawnSync('mount', ['-o', 'remount,size=30m', folder])
  await store.messages.append('s', { role: 'user', content: 'there is room again' })
  await store.close()

  assert.ok(
    failure instanceof StorageFullError || failure instanceof StorageIoError,
    String(failure),
  )
  assert.ok(stored > 0)
  assert.equal(count, stored)
  await using reopened = await openStore({ path: file })
  assert.equal(await reopened.messages.count('s'), stored + 1)
  assert.deepEqual(await reopened.maintenance.check(), [])
})

test('of writes that share a transaction only the one that does not fit fails', async (t) => {
  const database = await openTempDatabase(t, { maxPages: 200 })
  const set = (key: string, value: string) =>
    database.write((trx) => trx.insertInto('state_meta').values({ key, value }).execute())

  const outcomes = await Promise.allSettled([
    set('a', 'small'),
    set('big', 'x'.repeat(3_000_000)),
    set('b', 'small'),
  ])

  const rows = await database.read.selectFrom('state_meta').select('key').execute()
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.ok(outcomes[1].status === 'rejected' && outcomes[1].reason instanceof StorageFullError)
  assert.deepEqual(rows.map(({ key }) => key).sort(), ['a', 'b'])
})

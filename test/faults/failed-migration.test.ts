import assert from 'node:assert/strict'
import { test } from 'node:test'

import { MigrationFailedError, openStore } from '../../src/index.ts'
import { bigV9 } from '../support/big-state.ts'
import { openInChild } from '../support/open-in-child.ts'
import { assertComplete, copyFixture, objectsOf, withFile } from '../support/state-file.ts'

function versionOf(file: string): unknown {
  return withFile(file, (db) => db.prepare('select version from schema_version').pluck().all())
}

test('a step that cannot be done is named, and no other has been done', async (t) => {
  const file = copyFixture(t, 'v8')
  withFile(file, (db) =>
    db.exec(`drop trigger messages_fts_insert; drop trigger messages_fts_update;
      drop trigger messages_fts_delete; drop table messages_fts;
      create view messages_fts as select 1 as content`),
  )
  const before = withFile(file, objectsOf)

  await assert.rejects(openStore({ path: file }), (error: Error) => {
    return error instanceof MigrationFailedError && error.step === '0011_inline_indexes'
  })

  assert.deepEqual(withFile(file, objectsOf), before)
  assert.deepEqual(versionOf(file), [8])
})

test(
  'an upgrade that the system stops from writing leaves the old version, and can be done later',
  { skip: process.platform === 'win32' && 'NOT TESTED: needs ulimit' },
  async (t) => {
    const file = bigV9(t, 4000, 1000)
    // No file may grow beyond some megabytes, as with a quota: less than the indexes need.
    const via = ['sh', '-c', 'ulimit -f 20000; exec "$@"', 'sh']

    const report = await openInChild(file, { via })

    assert.equal(report.error, 'StorageIoError', report.message)
    assert.deepEqual(versionOf(file), [9])
    await (await openStore({ path: file })).close()
    assertComplete(file)
  },
)

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { sql } from 'kysely'

import { openStore, ReadonlyError, SchemaUnreadableError } from '../../src/index.ts'
import { addMeta, copyFixture, sideFiles, withFile } from '../support/state-file.ts'

for (const name of ['v12', 'v14', 'v18', 'v22', 'v25']) {
  test(`a file of ${name} can be read, refuses every write and keeps its bytes`, async (t) => {
    const file = copyFixture(t, name)
    const before = readFileSync(file)

    const store = await openStore({ path: file })

    const version = Number(name.slice(1))
    const tooNew = { name: 'SchemaTooNewError', version, supported: 11 }
    assert.equal(store.schemaVersion, version)
    assert.ok((await store.db.selectFrom('messages').select('id').execute()).length > 10)
    await assert.rejects(addMeta(store), tooNew)
    await assert.rejects(store.ensureOwnTables(), tooNew)
    await assert.rejects(sql`delete from messages`.execute(store.db), ReadonlyError)
    await store.close()
    assert.ok(readFileSync(file).equals(before))
    assert.deepEqual(sideFiles(file), [])
  })
}

test('of two version rows the newer one forbids writing', async (t) => {
  const file = copyFixture(t, 'v11')
  withFile(file, (db) => db.exec('insert into schema_version values (12)'))

  await using store = await openStore({ path: file })

  assert.equal(store.schemaVersion, 12)
  await assert.rejects(addMeta(store), { name: 'SchemaTooNewError', version: 12 })
})

test('read-only, a current file can be read and refuses writes', async (t) => {
  const file = copyFixture(t, 'v11')
  const before = readFileSync(file)

  const store = await openStore({ path: file, readonly: true })

  assert.ok((await store.db.selectFrom('messages').select('id').execute()).length > 10)
  await assert.rejects(addMeta(store), ReadonlyError)
  await store.close()
  assert.ok(readFileSync(file).equals(before))
})

test('a newer file that lacks what this package reads is refused, not sent to an upgrade', async (t) => {
  const file = copyFixture(t, 'v25')
  withFile(file, (db) => db.exec('alter table sessions drop column handoff_error'))

  await assert.rejects(openStore({ path: file }), SchemaUnreadableError)
})

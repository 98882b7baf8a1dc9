import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'

import { openStore, ReadonlyError, SchemaUnreadableError, type Store } from '../../src/index.ts'
import { addMeta, copyFixture, sideFiles, withFile } from '../support/state-file.ts'

function append(store: Store, content: string): Promise<number> {
  return store.messages.append('s', { role: 'user', content })
}

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

test('a file that is upgraded while it is open can be read on and is written no more', async (t) => {
  const file = copyFixture(t, 'v11')
  await using store = await openStore({ path: file })
  await store.sessions.create({ id: 's', source: 'cli' })
  await append(store, 'before')
  withFile(file, (db) => db.exec('update schema_version set version = 12'))

  const tooNew = { name: 'SchemaTooNewError', version: 12, supported: 11 }
  await assert.rejects(append(store, 'after'), tooNew)
  await assert.rejects(append(store, 'long '.repeat(50_000)), tooNew)
  await assert.rejects(addMeta(store), tooNew)
  await Promise.all([1, 2, 3].map((n) => assert.rejects(append(store, `${n}`), tooNew)))

  const stored = await store.messages.list('s')
  assert.deepEqual(
    stored.map(({ content }) => content),
    ['before'],
  )
})

test('a file that is upgraded while another waits to repair it is opened read-only', async (t) => {
  const file = copyFixture(t, 'v11')
  withFile(file, (db) => db.exec('drop index idx_sessions_source'))
  const hermes = new SqliteDatabase(file)
  t.after(() => hermes.close())
  hermes.exec('begin immediate; update schema_version set version = 12')

  const opening = openStore({ path: file })
  await sleep(300)
  hermes.exec('commit')
  await using store = await opening

  assert.equal(store.schemaVersion, 12)
  await assert.rejects(addMeta(store), { name: 'SchemaTooNewError' })
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

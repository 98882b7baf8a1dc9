import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import {
  DatabaseCorruptError,
  MigrationRequiredError,
  NotADatabaseError,
  openStore,
  SchemaTooNewError,
  SchemaUnreadableError,
} from '../../src/index.ts'
import { addMeta, assertComplete, copyFixture, sideFiles, withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

/** Asserts that opening fails so, and that the file is as it was, with nothing beside it. */
async function assertRefused(
  file: string,
  errorClass: new (...args: never[]) => Error,
  options: { readonly?: boolean } = {},
): Promise<void> {
  const before = readFileSync(file)

  await assert.rejects(openStore({ ...options, path: file }), errorClass)

  assert.ok(readFileSync(file).equals(before), 'the bytes changed')
  assert.deepEqual(sideFiles(file), [])
}

for (const [what, value] of [
  ['a word', `'eleven'`],
  ['a fraction', '10.5'],
  ['a negative number', '-1'],
  ['bytes', `x'0b'`],
  ['more than a version can be', '9223372036854775807'],
] as const) {
  test(`a file whose version is ${what} is refused`, async (t) => {
    const file = copyFixture(t, 'v8')
    withFile(file, (db) => db.exec(`update schema_version set version = ${value}`))

    if (what.startsWith('more')) {
      await using store = await openStore({ path: file }).catch(() => undefined)
      if (store) await assert.rejects(addMeta(store), SchemaTooNewError)
    } else {
      await assertRefused(file, SchemaUnreadableError)
    }
  })
}

test('a version stored as the text of a number is the number', async (t) => {
  const file = copyFixture(t, 'v8')
  withFile(file, (db) => db.exec(`update schema_version set version = '8'`))

  await (await openStore({ path: file })).close()

  assertComplete(file)
})

test('a text file is refused', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  writeFileSync(file, 'Dear diary,\n'.repeat(1000))

  await assertRefused(file, NotADatabaseError)
})

test('a short text file is refused', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  writeFileSync(file, 'hello')

  await assertRefused(file, NotADatabaseError)
})

test('an empty file becomes a store', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  writeFileSync(file, '')

  await (await openStore({ path: file })).close()

  assertComplete(file)
})

test('a file cut in half is told as damaged and left alone', async (t) => {
  const file = copyFixture(t, 'v8')
  const whole = readFileSync(file)
  writeFileSync(file, whole.subarray(0, whole.length / 2))

  await assertRefused(file, DatabaseCorruptError)
})

test('a file cut inside its first page is refused', async (t) => {
  const file = copyFixture(t, 'v8')
  writeFileSync(file, readFileSync(file).subarray(0, 1000))

  await assert.rejects(openStore({ path: file }), (error: Error) => {
    return error instanceof NotADatabaseError || error instanceof DatabaseCorruptError
  })

  assert.equal(statSync(file).size, 1000)
})

for (const journal of ['delete', 'wal']) {
  test(`another program's database in ${journal} mode is refused`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    withFile(file, (db) => {
      db.pragma(`journal_mode = ${journal}`)
      db.exec(`create table bookmarks (url text); insert into bookmarks values ('http://x')`)
    })

    await assertRefused(file, SchemaUnreadableError)
  })
}

test('a database whose sessions are not those of Hermes is refused', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  withFile(file, (db) => db.exec('create table sessions (sid primary key, sess text)'))

  await assertRefused(file, SchemaUnreadableError)
})

for (const table of ['telegram_users', 'store_orders', 'constructor']) {
  test(`a database with nothing but a table ${table} is another program's and refused`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    withFile(file, (db) => db.exec(`create table ${table} (id integer)`))

    await assertRefused(file, SchemaUnreadableError)
  })
}

test('a database with a schema_version of another make is refused', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  withFile(file, (db) =>
    db.exec('create table schema_version (installed_rank int); create table users (id)'),
  )

  await assertRefused(file, SchemaUnreadableError)
})

test('read-only, an old file asks for an upgrade and keeps its bytes', async (t) => {
  await assertRefused(copyFixture(t, 'v8'), MigrationRequiredError, { readonly: true })
})

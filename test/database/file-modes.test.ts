import assert from 'node:assert/strict'
import { chmodSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { openStore } from '../../src/index.ts'
import { startProcess } from '../support/child.ts'
import { addMeta, copyFixture } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const isPosix = process.platform !== 'win32'

const holdsOpen = `
process.umask(process.argv[1])
import(${JSON.stringify(pathToFileURL(path.join(import.meta.dirname, '../../src/index.ts')).href)})
  .then(async ({ openStore }) => {
    const store = await openStore({ path: process.argv[2] })
    const row = { key: 'k', value: 'v' }
    await store.transaction((tx) => tx.db.insertInto('state_meta').values(row).execute())
    console.log('written')
    process.stdin.resume()
  })
`

test('missing parent folders are made, for the owner only', { skip: !isPosix }, async (t) => {
  const folder = path.join(tempFolder(t), 'a', 'b')
  const file = path.join(folder, 'state.db')

  await (await openStore({ path: file })).close()

  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.equal(statSync(path.dirname(folder)).mode & 0o777, 0o700)
})

for (const umask of ['0000', '0022', '0777']) {
  test(`files are the owner's alone under umask ${umask}`, { skip: !isPosix }, async (t) => {
    const file = path.join(tempFolder(t), 'deep', 'state.db')

    // A process of its own: the umask is the whole process's.
    await using child = startProcess(process.execPath, ['-e', holdsOpen, umask, file])
    await child.waitForOutput('written')

    for (const name of [file, `${file}-wal`, `${file}-shm`]) {
      assert.equal(statSync(name).mode & 0o777, 0o600, name)
    }
    assert.equal(statSync(path.dirname(file)).mode & 0o777, 0o700)
  })
}

test('rights that others had on an existing file are taken away', { skip: !isPosix }, async (t) => {
  const file = copyFixture(t, 'v11')
  chmodSync(file, 0o644)

  await using store = await openStore({ path: file })
  await addMeta(store)

  for (const name of [file, `${file}-wal`, `${file}-shm`]) {
    assert.equal(statSync(name).mode & 0o777, 0o600, name)
  }
})

test('a side file that others could read is narrowed as well', { skip: !isPosix }, async (t) => {
  const file = copyFixture(t, 'v11')
  chmodSync(file, 0o666)
  await using other = await openStore({ path: file, readonly: true })
  await other.db.selectFrom('sessions').select('id').execute()
  assert.equal(statSync(`${file}-shm`).mode & 0o777, 0o666)

  await using store = await openStore({ path: file })
  await addMeta(store)

  assert.equal(statSync(`${file}-shm`).mode & 0o777, 0o600)
})

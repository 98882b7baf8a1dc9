import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { CannotOpenError, InvalidInputError, openStore } from '../src/index.ts'
import { addMeta, assertComplete, copyFixture } from './support/state-file.ts'
import { tempFolder } from './support/temp-store.ts'

const isPosix = process.platform !== 'win32'

test('a folder is refused', async (t) => {
  await assert.rejects(openStore({ path: tempFolder(t) }), CannotOpenError)
})

test('a named pipe is refused and not waited for', { skip: !isPosix }, async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  execFileSync('mkfifo', [file])

  await assert.rejects(openStore({ path: file }), CannotOpenError)
})

test('a file where a folder should be is told', async (t) => {
  const file = path.join(tempFolder(t), 'a')
  writeFileSync(file, '')

  await assert.rejects(openStore({ path: path.join(file, 'state.db') }), CannotOpenError)
})

for (const [what, given] of [
  ['an empty path', ''],
  ['blanks', '  '],
  ['a file: URI', 'file:state.db?mode=memory'],
  [':memory:', ':memory:'],
  ['a path with a NUL', 'state\0.db'],
  ['a folder that is not there', 'nowhere/'],
  ['a number', 7],
] as const) {
  test(`${what} is no path`, async () => {
    await assert.rejects(openStore({ path: given as string }), (error: Error) => {
      return error instanceof InvalidInputError && error.field === 'path'
    })
  })
}

for (const [field, options] of [
  ['synchronous', { synchronous: 'OFF' }],
  ['retry.retries', { retry: { retries: -1 } }],
  ['retry', { retry: 5 }],
  ['retry', { retry: null }],
  ['readonly', { readonly: 'yes' }],
  ['onProgress', { onProgress: 5 }],
  ['logger', { logger: console.log }],
  ['readOnly', { readOnly: true }],
] as const) {
  test(`a wrong ${field} (${JSON.stringify(options)}) is refused before a file is made`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')

    const opening = openStore({ path: file, ...(options as object) })

    await assert.rejects(opening, (error: Error) => {
      return error instanceof InvalidInputError && error.field === field
    })
    assert.equal(existsSync(file), false)
  })
}

test('a path in place of the options is refused, and opens not the default file', async (t) => {
  const folder = tempFolder(t)
  const before = process.env['HERMES_HOME']
  t.after(() => restoreHermesHome(before))
  process.env['HERMES_HOME'] = folder

  for (const given of ['state.db', null, 7, []]) {
    await assert.rejects(openStore(given as object), (error: Error) => {
      return error instanceof InvalidInputError && error.field === 'options'
    })
  }

  assert.deepEqual(readdirSync(folder), [])
})

test('HERMES_HOME names the folder of the default file, at the time of the call', async (t) => {
  const folder = tempFolder(t)
  const before = process.env['HERMES_HOME']
  t.after(() => restoreHermesHome(before))
  process.env['HERMES_HOME'] = folder

  await using store = await openStore()

  assert.equal(store.path, path.join(folder, 'state.db'))
})

test('read-only, an absent file is not made', async (t) => {
  const file = path.join(tempFolder(t), 'sub', 'state.db')

  await assert.rejects(openStore({ path: file, readonly: true }), CannotOpenError)

  assert.equal(existsSync(path.dirname(file)), false)
})

test(
  'a link to the file is the file, side files and rights included',
  { skip: !isPosix },
  async (t) => {
    const folder = tempFolder(t)
    const target = path.join(folder, 'real', 'target.db')
    mkdirSync(path.dirname(target))
    writeFileSync(target, '', { mode: 0o644 })
    const link = path.join(folder, 'state.db')
    symlinkSync(target, link)

    const store = await openStore({ path: link })
    for (let n = 0; n < 3; n += 1) await addMeta(store)

    assert.equal(statSync(`${target}-wal`).mode & 0o777, 0o600)
    assert.equal(store.path, target)
    await store.close()
    await using again = await openStore({ path: link, readonly: true })
    assert.equal((await again.db.selectFrom('state_meta').select('key').execute()).length, 3)
  },
)

test('a link to nothing is refused', { skip: !isPosix }, async (t) => {
  const link = path.join(tempFolder(t), 'state.db')
  symlinkSync('nowhere.db', link)

  await assert.rejects(openStore({ path: link }), CannotOpenError)
})

test('our own tables come to a file of the agent once, whoever asks first', async (t) => {
  const file = copyFixture(t, 'v11')
  await using one = await openStore({ path: file })
  await using other = await openStore({ path: file })

  await Promise.all([one.ensureOwnTables(), other.ensureOwnTables(), one.ensureOwnTables()])
  await other.ensureOwnTables()

  assert.deepEqual(await one.db.selectFrom('store_chat_routes').select('chat_id').execute(), [])
  assert.equal(one.schemaVersion, 11)
})

test('five stores of one process make one new file together', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')

  const stores = await Promise.all(Array.from({ length: 5 }, () => openStore({ path: file })))

  await Promise.all(stores.map(addMeta))
  const rows = await stores[0]?.db.selectFrom('state_meta').select('key').execute()
  assert.equal(rows?.length, 5)
  await Promise.all(stores.map((store) => store.close()))
  assertComplete(file)
})

test('a logger that throws stops no write, and the process is warned', async (t) => {
  const fail = (): never => {
    throw new Error('the log disk is full')
  }
  const logger = { debug: fail, info: fail, warn: fail, error: fail }
  const file = path.join(tempFolder(t), 'state.db')
  await using store = await openStore({ path: file, logger })
  const warned = once(process, 'warning')

  await store.transaction(async (tx) => {
    await tx.meta.set('first', '1')
    // Long enough for the store to tell that the lock was held for long.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  })
  await store.meta.set('second', '2')

  assert.match(String(await warned), /the log disk is full/)
  assert.equal(await store.meta.get('second'), '2')
})

function restoreHermesHome(before: string | undefined): void {
  if (before === undefined) delete process.env['HERMES_HOME']
  else process.env['HERMES_HOME'] = before
}

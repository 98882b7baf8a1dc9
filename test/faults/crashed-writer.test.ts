import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { CannotOpenError, openStore, SchemaUnreadableError } from '../../src/index.ts'
import { openInRollbackMode } from '../support/rollback-mode.ts'
import { skipWithoutPython, startPython } from '../support/python.ts'
import { addMeta, assertComplete, copyFixture, sideFiles, withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const skip = skipWithoutPython()

/** Writes half of a transaction into the file, in the given journal mode, and waits to be killed. */
const halfWriter = `
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("PRAGMA journal_mode=" + sys.argv[2])
conn.execute("PRAGMA cache_size=5")
conn.execute("BEGIN IMMEDIATE")
conn.execute("CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT)")
for n in range(400):
    conn.execute("INSERT INTO state_meta VALUES (?, ?)", (f"half {n}", "x" * 500))
print("half written", flush=True)
sys.stdin.read()
`

async function crashWhileWriting(file: string, mode: 'wal' | 'delete'): Promise<void> {
  await using writer = startPython(halfWriter, [file, mode])
  await writer.waitForOutput('half written')
  await writer.kill('SIGKILL')
}

for (const mode of ['wal', 'delete'] as const) {
  for (const version of ['v8', 'v11']) {
    const title = `a ${version} file whose writer was killed in ${mode} mode opens without the half it wrote`
    test(title, { skip }, async (t) => {
      const file = copyFixture(t, version)
      await crashWhileWriting(file, mode)
      if (mode === 'delete') assert.deepEqual(sideFiles(file), ['-journal'])

      await using store = await openStore({ path: file })

      const half = await store.db
        .selectFrom('state_meta')
        .select('key')
        .where('key', 'like', 'half%')
        .execute()
      assert.deepEqual(half, [])
      await addMeta(store)
      assertComplete(file, version === 'v11' ? 'agent' : 'us')
    })
  }
}

test('read-only, an interrupted transaction is not undone', { skip }, async (t) => {
  const file = copyFixture(t, 'v11')
  await crashWhileWriting(file, 'delete')
  const before = readFileSync(file)

  await assert.rejects(openStore({ path: file, readonly: true }), CannotOpenError)

  assert.ok(readFileSync(file).equals(before))
})

test(
  'in rollback mode the crash of another writer does not stop the reads of an open store',
  { skip },
  async (t) => {
    const file = copyFixture(t, 'v11')
    const database = openInRollbackMode(t, file)

    await crashWhileWriting(file, 'delete')

    const keys = await database.read.selectFrom('state_meta').select('key').execute()
    assert.deepEqual(
      keys.filter(({ key }) => key.startsWith('half')),
      [],
    )
  },
)

test(
  "another program's interrupted transaction is undone, and its data left alone",
  { skip },
  async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    withFile(file, (db) =>
      db.exec(`create table bookmarks (url); insert into bookmarks values (1)`),
    )
    await crashWhileWriting(file, 'delete')

    await assert.rejects(openStore({ path: file }), SchemaUnreadableError)

    assert.deepEqual(
      withFile(file, (db) => db.prepare('select url from bookmarks').all()),
      [{ url: 1 }],
    )
  },
)

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import SqliteDatabase from 'better-sqlite3'

import { InvalidInputError, openStore } from '../../src/index.ts'
import { copyFixture, withFile } from '../support/state-file.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'

test('a sound file has no problems', async (t) => {
  const store = await openTempStore(t)
  const id = await store.sessions.create({ source: 'cli' })
  await store.messages.append(id, { role: 'user', content: 'hello' })

  assert.deepEqual(await store.maintenance.check(), [])
})

test('a file whose index an older SQLite wrote is sound', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  fs.copyFileSync(path.join(import.meta.dirname, '../fixtures/v11.db'), file)
  await using store = await openStore({ path: file, readonly: true })
  const raw = new SqliteDatabase(file, { readonly: true })
  const complaint = raw.pragma('integrity_check', { simple: true })
  raw.close()

  const problems = await store.maintenance.check()

  assert.match(String(complaint), /messages_fts_trigram/)
  assert.deepEqual(problems, [])
})

test('an index that lost a message and a row without its session are named', async (t) => {
  const store = await openTempStore(t)
  const id = await store.sessions.create({ source: 'cli' })
  await store.messages.append(id, { role: 'user', content: 'one' })
  await store.messages.append(id, { role: 'user', content: 'two' })
  const raw = new SqliteDatabase(store.path)
  raw.pragma('foreign_keys = off')
  raw.exec(`
    delete from messages_fts where rowid = 1;
    drop trigger messages_fts_trigram_update;
    insert into messages (session_id, role, timestamp) values ('nobody', 'user', 1);
  `)
  raw.close()

  const problems = await store.maintenance.check()

  assert.deepEqual(
    problems.map(({ kind, name }) => ({ kind, name })),
    [
      { kind: 'index', name: 'messages_fts' },
      { kind: 'index', name: 'messages_fts_trigram' },
      { kind: 'reference', name: 'messages' },
    ],
  )
})

for (const version of ['v12', 'v14', 'v18', 'v22', 'v25']) {
  test(`a sound file of ${version}, whatever its indexes leave out, has no problems`, async (t) => {
    await using store = await openStore({ path: copyFixture(t, version) })

    assert.deepEqual(await store.maintenance.check(), [])
  })
}

test('an index of a newer file that lacks what it should have is named', async (t) => {
  const file = copyFixture(t, 'v25')
  withFile(file, (raw) => {
    raw.unsafeMode()
    raw.exec(
      `delete from messages_fts_trigram_docsize where id =
       (select min(id) from messages_fts_trigram_docsize)`,
    )
  })
  await using store = await openStore({ path: file })

  const problems = await store.maintenance.check()

  assert.deepEqual(
    problems.filter(({ detail }) => detail.startsWith('it lacks')),
    [{ kind: 'index', name: 'messages_fts_trigram', detail: 'it lacks 1 messages' }],
  )
})

test('holes in the middle of an index are found and healed, also those a delete left open', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  const contents = Array.from({ length: 300 }, (_, n) => `needle number${n}`)
  await store.messages.appendMany(
    's',
    contents.map((content) => ({ role: 'user', content })),
  )
  withFile(store.path, (raw) =>
    raw.exec(`
      delete from messages_fts where rowid between 100 and 120;
      delete from messages_fts_trigram where rowid % 7 = 3;
      update messages_fts set content = 'something else' where rowid = 200;
    `),
  )

  const before = await store.maintenance.check()
  await store.maintenance.rebuildIndexes()
  const after = await store.maintenance.check()

  assert.deepEqual(before, [
    { kind: 'index', name: 'messages_fts', detail: 'it lacks 21 messages' },
    { kind: 'index', name: 'messages_fts', detail: 'it holds 1 messages with another text' },
    { kind: 'index', name: 'messages_fts_trigram', detail: 'it lacks 43 messages' },
  ])
  assert.deepEqual(after, [])
  assert.equal((await store.search.messages('needle', { limit: -1 })).length, 300)
  assert.equal((await store.search.messages('number200')).length, 1)
})

test('an abort ends the wait for a check', async (t) => {
  const store = await openTempStore(t)
  const reason = new Error('never mind')

  const checking = store.maintenance.check({ signal: AbortSignal.abort(reason) })

  await assert.rejects(checking, reason)
})

test('a backup is owner-only, sound, and has what was acknowledged before', async (t) => {
  const store = await openTempStore(t)
  const target = path.join(tempFolder(t), 'copy.db')
  const id = await store.sessions.create({ source: 'cli' })
  for (let n = 0; n < 100; n += 1)
    await store.messages.append(id, { role: 'user', content: `${n}` })

  const late = Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      store.messages.append(id, { role: 'user', content: `${n}` }),
    ),
  )
  await store.maintenance.backup(target)
  await late

  assert.equal(fs.statSync(target).mode & 0o777, 0o600)
  assert.deepEqual(fs.readdirSync(path.dirname(target)), ['copy.db'])
  await using copy = await openStore({ path: target })
  assert.deepEqual(await copy.maintenance.check(), [])
  assert.ok((await copy.messages.count(id)) >= 100)
  assert.equal(await store.messages.count(id), 150)
})

test('a backup replaces a file only when told, and never the file itself', async (t) => {
  const store = await openTempStore(t)
  const target = path.join(tempFolder(t), 'copy.db')
  fs.writeFileSync(target, 'precious')

  await assert.rejects(store.maintenance.backup(target), InvalidInputError)
  await assert.rejects(store.maintenance.backup(store.path, { overwrite: true }), InvalidInputError)
  await assert.rejects(store.maintenance.backup(''), InvalidInputError)
  await assert.rejects(store.maintenance.backup(path.join(target, 'x.db')), { code: 'CANNOT_OPEN' })
  const before = fs.readFileSync(target, 'utf8')
  await store.maintenance.backup(target, { overwrite: true })

  assert.equal(before, 'precious')
  assert.equal(fs.readFileSync(target).subarray(0, 15).toString(), 'SQLite format 3')
})

for (const suffix of ['-wal', '-shm', '-journal']) {
  test(`a backup to the ${suffix} beside the file is refused, and nothing is lost`, async (t) => {
    const store = await openTempStore(t)
    await store.meta.set('key', 'value')

    for (const overwrite of [false, true]) {
      const backup = store.maintenance.backup(store.path + suffix, { overwrite })
      await assert.rejects(backup, InvalidInputError)
    }

    await store.meta.set('other', 'value')
    assert.equal(await store.meta.get('key'), 'value')
    assert.deepEqual(await store.maintenance.check(), [])
  })
}

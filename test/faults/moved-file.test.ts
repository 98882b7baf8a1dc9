import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test, type TestContext } from 'node:test'

import { FileMovedError, openStore, type Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

const skip = process.platform === 'win32' && 'NOT TESTED: an open file cannot be moved here'

async function storeWithSession(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.ensure('s', { source: 'cli' })
  await append(store, 'before')
  return store
}

function append(store: Store, content: string): Promise<number> {
  return store.messages.append('s', { role: 'user', content })
}

test('writing into a deleted file fails, then and from then on', { skip }, async (t) => {
  const store = await storeWithSession(t)

  fs.rmSync(store.path)

  await assert.rejects(append(store, 'lost'), FileMovedError)
  await assert.rejects(store.meta.set('key', 'value'), FileMovedError)
  fs.writeFileSync(store.path, '')
  await assert.rejects(append(store, 'lost'), FileMovedError)
})

test('each write of a batch learns that the file was replaced', { skip }, async (t) => {
  const store = await storeWithSession(t)
  const copy = `${store.path}.copy`
  await store.maintenance.backup(copy)

  fs.renameSync(copy, store.path)
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((text) => append(store, text)))

  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof FileMovedError)
  }
})

test(
  'a file moved inside a write is noticed before the write is acknowledged',
  { skip },
  async (t) => {
    const store = await storeWithSession(t)

    const write = store.transaction(async (tx) => {
      await tx.messages.append('s', { role: 'user', content: 'lost' })
      fs.renameSync(store.path, `${store.path}.moved`)
    })

    await assert.rejects(write, FileMovedError)
  },
)

test(
  'after its WAL was removed a store stops, and nothing acknowledged is lost',
  { skip },
  async (t) => {
    const store = await storeWithSession(t)
    await append(store, 'acknowledged')

    fs.rmSync(`${store.path}-wal`)
    await append(store, 'acknowledged as well')
    await assert.rejects(append(store, 'refused'), FileMovedError)
    await store.close()

    await using reopened = await openStore({ path: store.path })
    const messages = await reopened.messages.list('s')
    assert.deepEqual(
      messages.map(({ content }) => content),
      ['before', 'acknowledged', 'acknowledged as well'],
    )
    assert.deepEqual(await reopened.maintenance.check(), [])
  },
)

test('a write whose WAL was removed under it is acknowledged and kept', { skip }, async (t) => {
  const store = await storeWithSession(t)

  await store.transaction(async (tx) => {
    await tx.messages.append('s', { role: 'user', content: 'during' })
    fs.rmSync(`${store.path}-wal`)
  })
  await assert.rejects(append(store, 'after'), FileMovedError)
  await store.close()

  await using reopened = await openStore({ path: store.path })
  const messages = await reopened.messages.list('s')
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['before', 'during'],
  )
})

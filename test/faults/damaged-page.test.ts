import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { DatabaseCorruptError, openStore } from '../../src/index.ts'
import { damagePages } from '../support/damage.ts'
import { tempFolder } from '../support/temp-store.ts'

const isFileDamage = (error: unknown): boolean =>
  error instanceof DatabaseCorruptError && error.scope === 'file'

async function damagedFile(file: string): Promise<void> {
  await using store = await openStore({ path: file })
  await store.sessions.ensure('s', { source: 'cli' })
  await store.messages.append('s', { role: 'user', content: 'before' })
  await store.close()
  damagePages(file, 'idx_messages_session')
}

test('the first write that meets a damaged page ends all writing; reads go on', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await damagedFile(file)
  await using store = await openStore({ path: file })

  await store.meta.set('key', 'written before the damage was met')
  const outcomes = await Promise.allSettled([
    store.messages.append('s', { role: 'user', content: 'lost' }),
    store.messages.append('s', { role: 'user', content: 'lost as well' }),
  ])

  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && isFileDamage(outcome.reason))
  }
  await assert.rejects(store.meta.set('other', 'refused'), isFileDamage)
  assert.equal(await store.meta.get('key'), 'written before the damage was met')
  assert.equal((await store.sessions.get('s')).messageCount, 1)
})

test('a read that meets a damaged page ends all writing', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await damagedFile(file)
  await using store = await openStore({ path: file })

  await assert.rejects(store.messages.list('s'), isFileDamage)

  await assert.rejects(store.meta.set('key', 'refused'), isFileDamage)
})

test('check says that the file is damaged, and nothing is rebuilt over it', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await damagedFile(file)
  await using store = await openStore({ path: file })

  const problems = await store.maintenance.check()

  assert.ok(problems.some(({ kind }) => kind === 'file'))
  await assert.rejects(store.maintenance.rebuildIndexes(), isFileDamage)
  await assert.rejects(store.meta.set('key', 'refused'), isFileDamage)
})

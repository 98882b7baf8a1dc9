import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError, openStore, TitleConflictError } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

test('of two stores that want one title at once, one gets it and the other is told who', async (t) => {
  const store = await openTempStore(t)
  await using other = await openStore({ path: store.path })
  await store.sessions.create({ id: 'a', source: 'cli' })
  await store.sessions.create({ id: 'b', source: 'cli' })

  const [first, second] = await Promise.allSettled([
    store.titles.set('a', 'Wanted'),
    other.titles.set('b', 'Wanted'),
  ])

  const lost = [first, second].filter((outcome) => outcome.status === 'rejected')
  assert.equal(lost.length, 1)
  const { reason } = lost[0] as PromiseRejectedResult
  assert.ok(reason instanceof TitleConflictError)
  assert.equal(reason.title, 'Wanted')
  assert.equal(reason.holderId, first.status === 'fulfilled' ? 'a' : 'b')
})

test('a conflict inside a transaction leaves the rest of it to be stored', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'a', source: 'cli' })
  await store.titles.set('a', 'Taken')

  await store.transaction(async (tx) => {
    await tx.sessions.create({ id: 'b', source: 'cli' })
    await assert.rejects(tx.titles.set('b', 'Taken'), TitleConflictError)
    await tx.titles.set('b', await tx.titles.next('Taken'))
  })

  assert.equal(await store.titles.get('b'), 'Taken #2')
})

test('names the other holder where a damaged file has a title twice', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'a', source: 'cli' })
  await store.sessions.create({ id: 'b', source: 'cli' })
  withFile(store.path, (db) => {
    db.exec(`drop index idx_sessions_title_unique; update sessions set title = 'Twice'`)
  })

  await assert.rejects(store.titles.set('a', 'Twice'), { holderId: 'b' })
})

test('counts in the digits of every script, beyond the numbers JavaScript has', async (t) => {
  const store = await openTempStore(t)
  const next = async (title: string): Promise<string> => {
    const id = await store.sessions.create({ source: 'cli' })
    await store.titles.set(id, title)
    return store.titles.next(title)
  }

  assert.equal(await next('big #9007199254740993'), 'big #9007199254740994')
  assert.equal(await next('arabic #٤٢'), 'arabic #43')
  assert.equal(await next('double-struck #𝟙𝟘'), 'double-struck #11')
  assert.equal(await next('bold #𝟗'), 'bold #10')
  assert.equal(await next('zero #0'), 'zero #2')
})

test('takes wildcards, U+0000 and lone surrogates for text', async (t) => {
  const store = await openTempStore(t)
  for (const title of ['ab #2', 'a', 'a\u{fffd} #3']) {
    const id = await store.sessions.create({ source: 'cli' })
    await store.titles.set(id, title)
  }

  for (const title of ['a_', 'a%', '_b', 'a\0', 'a\0b', '%', 'x'.repeat(100_000)]) {
    assert.equal(await store.titles.resolve(title), undefined, title.slice(0, 9))
    assert.equal(await store.titles.next(title), title)
    assert.equal(await store.titles.find(title), undefined)
  }
  assert.equal(await store.titles.next('a\ud800'), 'a\u{fffd} #4')
  assert.equal((await store.titles.find('a\u{fffd} #3'))?.title, 'a\u{fffd} #3')
})

test('stores a title without what cannot be seen, and none for a blank one', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'a', source: 'cli' })

  assert.equal(await store.titles.set('a', ' \0two\u200b\n words\ud800 '), true)
  assert.equal(await store.titles.get('a'), 'two words\u{fffd}')
  assert.equal(await store.titles.set('a', ' \t '), true)
  assert.equal(await store.titles.get('a'), null)
  assert.equal(await store.titles.set('missing', null), false)
})

test('refuses what is no text, and changes nothing', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'a', source: 'cli' })
  await store.titles.set('a', 'Kept')

  for (const wrong of [7, true, {}, ['x']] as unknown as string[]) {
    await assert.rejects(store.titles.set('a', wrong), InvalidInputError)
    await assert.rejects(store.titles.set(wrong, 'New'), InvalidInputError)
    await assert.rejects(store.titles.get(wrong), InvalidInputError)
    await assert.rejects(store.titles.find(wrong), InvalidInputError)
    await assert.rejects(store.titles.resolve(wrong), InvalidInputError)
    await assert.rejects(store.titles.next(wrong), InvalidInputError)
  }
  await assert.rejects(store.titles.set('a', 'x'.repeat(101)), InvalidInputError)
  assert.equal(await store.titles.get('a'), 'Kept')
})

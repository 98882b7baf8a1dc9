import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'

import type { Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

/** A store in which one session said these things; their ids are 1, 2, 3 … */
async function storeSaying(t: TestContext, ...texts: string[]): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  for (const content of texts) await store.messages.append('s', { role: 'user', content })
  return store
}

async function idsFor(store: Store, query: string): Promise<number[]> {
  const hits = await store.search.messages(query)
  return hits.map((hit) => hit.id).sort((a, b) => a - b)
}

/** What each hit marks, the oldest message first. */
async function markedBy(store: Store, query: string): Promise<string[][]> {
  const { hits } = await store.search.find(query, { sort: 'oldest' })
  return hits.map(({ excerpt, highlights }) =>
    highlights.map(({ start, end }) => excerpt.slice(start, end)),
  )
}

test('operators mean what they say with emoji, which the word index lacks', async (t) => {
  const store = await storeSaying(t, 'deploy 🚀', 'deploy', 'build 🚀')

  assert.deepEqual(await idsFor(store, 'deploy NOT 🚀'), [2])
  assert.deepEqual(await idsFor(store, 'deploy -🚀'), [2])
  assert.deepEqual(await idsFor(store, 'deploy AND 🚀'), [1])
  assert.deepEqual(await idsFor(store, 'deploy OR 🚀'), [1, 2, 3])
  // A neighbour is passed over, as the agent does.
  assert.deepEqual(await idsFor(store, 'deploy 🚀 NOT build'), [1, 2])
})

test('a sign that is short for letters ends a word', async (t) => {
  const store = await storeSaying(t, '面积100㎡左右', 'Windows™ 天气', 'an 80㎏ bag', 'Ⓗⓔⓛⓛⓞ')

  assert.deepEqual(await idsFor(store, '100'), [1])
  assert.deepEqual(await idsFor(store, '100㎡'), [1])
  assert.deepEqual(await idsFor(store, 'Windows NOT 大'), [2])
  assert.deepEqual(await idsFor(store, '™'), [2])
  assert.deepEqual(await idsFor(store, '80 OR 大'), [3])
  assert.deepEqual(await idsFor(store, 'Ⓗⓔⓛⓛⓞ NOT 大'), [4])
  assert.deepEqual(await idsFor(store, 'h/e NOT 大'), [])
})

test('marks whole characters, also where several units or one stand for another text', async (t) => {
  const kana = await storeSaying(t, '半角 ｶﾞｷﾞ', '全角 ガギ')
  assert.deepEqual(await markedBy(kana, 'ガギ'), [['ｶﾞｷﾞ'], ['ガギ']])

  const hangul = await storeSaying(t, `${'x '.repeat(200)}${'각'.normalize('NFD')}`)
  assert.deepEqual(await markedBy(hangul, '각'), [['각'.normalize('NFD')]])

  const escaped = await storeSaying(t)
  const toolCalls = [{ function: { name: 'f', arguments: String.raw`{"q":"\u0915\u094d\u0937"}` } }]
  await escaped.messages.append('s', { role: 'assistant', content: null, toolCalls })
  assert.deepEqual(await markedBy(escaped, 'क्ष'), [['क्ष']])
  assert.deepEqual(await markedBy(escaped, 'क'), [['क्']])
})

test('shows short terms in the arguments of a tool, where the snippet of the agent has none', async (t) => {
  const store = await storeSaying(t, '今天天气')
  const toolCalls = [{ function: { name: '查', arguments: '{"城市":"天气"}' } }]
  await store.messages.append('s', { role: 'assistant', content: null, toolCalls })

  assert.deepEqual(await markedBy(store, '天气'), [['天气'], ['天气']])
  const [hit] = await store.search.messages('天气', { limit: 1 })
  assert.equal(hit?.id, 2)
  assert.equal(hit?.snippet, null)
})

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'

import { sql } from 'kysely'

import {
  InvalidInputError,
  type SearchHit,
  type SearchOptions,
  type Store,
} from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

function say(store: Store, sessionId: string, content: unknown, role = 'user'): Promise<number> {
  return store.messages.append(sessionId, { role, content })
}

/** Three sessions of two people: a chat, the sub-agent it started, and another chat. */
async function chats(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  const { sessions } = store
  await sessions.create({ id: 'first', source: 'telegram', userId: 'ann' })
  await sessions.create({ id: 'sub', source: 'tool', userId: 'ann', parentSessionId: 'first' })
  await sessions.create({ id: 'second', source: 'discord', userId: 'bob' })
  return store
}

/** So that no two messages are of one time. */
async function timeById(store: Store): Promise<void> {
  await store.transaction(async ({ db }) => {
    await sql`update messages set timestamp = 1770000000 + id`.execute(db)
  })
}

async function foundBy(store: Store, query: string, options: SearchOptions): Promise<number[]> {
  const hits = await store.search.messages(query, options)
  return hits.map(({ id }) => id).toSorted((a, b) => a - b)
}

test('keeps to sessions, a family of sessions, people, roles and times', async (t) => {
  const store = await chats(t)
  for (const id of ['first', 'sub', 'second']) await say(store, id, 'the needle 天气')
  await say(store, 'first', 'a needle 天气', 'assistant')
  const at = (id: number): number => 1_770_000_000 + id
  await timeById(store)

  for (const query of ['needle', '天气']) {
    assert.deepEqual(await foundBy(store, query, { sessionIds: ['first'] }), [1, 4])
    assert.deepEqual(await foundBy(store, query, { excludeSessionIds: ['first'] }), [2, 3])
    assert.deepEqual(await foundBy(store, query, { lineageOf: 'sub' }), [1, 2, 4])
    assert.deepEqual(await foundBy(store, query, { lineageOf: 'first' }), [1, 2, 4])
    assert.deepEqual(await foundBy(store, query, { lineageOf: 'sub', sessionIds: ['sub'] }), [2])
    assert.deepEqual(await foundBy(store, query, { lineageOf: 'nowhere' }), [])
    assert.deepEqual(await foundBy(store, query, { userIds: ['bob'] }), [3])
    assert.deepEqual(await foundBy(store, query, { userIds: [] }), [])
    assert.deepEqual(await foundBy(store, query, { roles: ['assistant'] }), [4])
    assert.deepEqual(await foundBy(store, query, { since: at(3) }), [3, 4])
    assert.deepEqual(await foundBy(store, query, { until: at(3) }), [1, 2])
    assert.deepEqual(await foundBy(store, query, { since: at(2), until: at(4) }), [2, 3])
  }
})

test('marks what was found, as ranges and in the snippet', async (t) => {
  const store = await chats(t)
  await store.titles.set('first', 'A title')
  await say(store, 'first', `${'x '.repeat(100)}the needle, and >>>another<<< needle`)
  await say(store, 'first', '修改foobar模块')
  await say(store, 'first', '今天天气')

  const word = (await store.search.find('needle')).hits[0]
  const [glued] = await store.search.messages('foobar')
  const [short] = await store.search.messages('天气')

  for (const [hit, texts] of [
    [word, ['needle', 'needle']],
    [glued, ['foobar']],
    [short, ['天气']],
  ] as const) {
    assert.deepEqual(marked(hit), texts)
    assert.equal(hit?.sessionTitle, 'A title')
  }
  assert.equal(glued?.snippet, '修改>>>foobar<<<模块  ')
  assert.match(word?.snippet ?? '', />>>another<<< >>>needle<<</)
  assert.ok((word?.score ?? 0) > 0)
  assert.equal(short?.score, null)
})

function marked(hit: SearchHit | undefined): string[] | undefined {
  return hit?.highlights.map(({ start, end }) => hit.excerpt.slice(start, end))
}

test('the better match comes first', async (t) => {
  const store = await chats(t)
  await say(store, 'first', `needle ${'and other words '.repeat(20)}`)
  await say(store, 'first', 'needle, needle, needle')
  await say(store, 'first', 'no more than one needle here')

  const { hits } = await store.search.find('needle')

  assert.deepEqual(
    hits.map(({ id }) => id),
    [2, 3, 1],
  )
  const scores = hits.map(({ score }) => score ?? 0)
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  )
})

test('orders short terms by time as asked, and the agent way where it is asked for messages', async (t) => {
  const store = await chats(t)
  for (const text of ['天气一', '天气二', '天气三']) await say(store, 'first', text)
  await timeById(store)

  const oldest = await store.search.find('天气', { sort: 'oldest' })
  const newest = await store.search.find('天气', { sort: 'newest' })
  const agents = await store.search.messages('天气', { sort: 'oldest' })

  assert.deepEqual(
    oldest.hits.map(({ id }) => id),
    [1, 2, 3],
  )
  assert.deepEqual(
    newest.hits.map(({ id }) => id),
    [3, 2, 1],
  )
  assert.deepEqual(
    agents.map(({ id }) => id),
    [3, 2, 1],
  )
})

test('pages on while messages come and go', async (t) => {
  const store = await chats(t)
  for (let n = 1; n <= 30; n += 1)
    await say(store, 'first', `needle ${n % 3 === 0 ? '修needle' : ''}`)
  await say(store, 'second', '只有修needle改')

  const seen: number[] = []
  let cursor: string | undefined
  do {
    const page = await store.search.find('needle', {
      limit: 7,
      sort: 'newest',
      ...(cursor && { cursor }),
    })
    seen.push(...page.hits.map(({ id }) => id))
    cursor = page.nextCursor
    await say(store, 'second', 'one more needle')
  } while (cursor)

  assert.deepEqual(
    seen,
    Array.from({ length: 31 }, (_, index) => 31 - index),
  )
  const first = await store.search.find('needle', { sort: 'oldest', limit: 1 })
  await assert.rejects(
    store.search.find('needle', { cursor: first.nextCursor! }),
    InvalidInputError,
  )
  await assert.rejects(store.search.find('needle', { cursor: 'x' }), InvalidInputError)
  await assert.rejects(
    store.search.find('needle', { cursor: 1 as unknown as string }),
    InvalidInputError,
  )
})

test('gives each session its best hits and how many there are', async (t) => {
  const store = await chats(t)
  for (let n = 0; n < 30; n += 1) await say(store, 'first', `needle number ${n}`)
  await say(store, 'second', 'needle')
  await store.titles.set('sub', 'Where is the needle?')

  const { sessions, notes } = await store.search.sessions('needle', { hitsPerSession: 2 })

  assert.deepEqual(
    sessions.map(({ sessionId, hitCount, hits }) => [sessionId, hitCount, hits.length]),
    [
      ['sub', 0, 0],
      ['second', 1, 1],
      ['first', 30, 2],
    ],
  )
  assert.deepEqual(sessions[0]?.titleHighlights, [{ start: 13, end: 19 }])
  assert.deepEqual(sessions[1]?.titleHighlights, [])
  assert.deepEqual(notes, [])
  const limited = await store.search.sessions('needle', { limit: 1, sources: ['telegram'] })
  assert.deepEqual(
    limited.sessions.map(({ sessionId }) => sessionId),
    ['first'],
  )
})

test('counts in part where very many messages fit', async (t) => {
  const store = await chats(t)
  const many = Array.from({ length: 1100 }, () => ({ role: 'user', content: 'needle' }))
  await store.messages.appendMany('first', many)

  const { sessions, notes } = await store.search.sessions('needle')

  assert.equal(sessions[0]?.hitCount, 1000)
  assert.deepEqual(
    notes.map(({ code }) => code),
    ['counted-in-part'],
  )
})

test('says how a query was read', async (t) => {
  const store = await chats(t)
  await say(store, 'first', 'needle')

  const { hits, notes } = await store.search.find('needle "')

  assert.equal(hits.length, 1)
  assert.deepEqual(
    notes.map(({ code, position }) => [code, position]),
    [['read-as-text', 7]],
  )
  assert.equal((await store.search.find('')).notes[0]?.code, 'nothing-to-find')
})

test('refuses filters of a wrong type', async (t) => {
  const store = await chats(t)
  for (const options of [
    { since: 'today' },
    { until: Number.NaN },
    { lineageOf: 1 },
    { userIds: 'ann' },
    { excludeSessionIds: [1] },
  ]) {
    await assert.rejects(store.search.messages('x', options as SearchOptions), InvalidInputError)
  }
  await assert.rejects(store.search.sessions('x', { limit: -1 }), InvalidInputError)
  await assert.rejects(store.search.sessions('x', { hitsPerSession: 0.5 }), InvalidInputError)
})

test('an index has nothing to lack where nobody has said a word', async (t) => {
  const store = await chats(t)
  await say(store, 'first', '🚀')

  const { hits, notes } = await store.search.find('🚀')

  assert.equal(hits.length, 1)
  assert.deepEqual(notes, [])
})

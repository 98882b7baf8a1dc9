import assert from 'node:assert/strict'
import test from 'node:test'

import { openTempStore } from '../support/temp-store.ts'

const words = Array.from({ length: 200 }, (_, index) => `word${index}`).join(' ')

test('a search of a big file can be ended, and the next one is answered', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  const messages = Array.from({ length: 3000 }, (_, index) => ({
    role: 'user',
    content: `${words} 天气${index}`,
  }))
  await store.messages.appendMany('s', messages)
  const stop = new AbortController()

  const searches = ['天气 AND 气', 'ord', 'word1', '(word1 OR 天气) word2'].map((query) =>
    store.search.messages(query, { signal: stop.signal, limit: -1 }),
  )
  setImmediate(() => stop.abort(new Error('enough')))

  for (const { status } of await Promise.allSettled(searches)) assert.equal(status, 'rejected')
  await assert.rejects(store.search.find('word1', { signal: stop.signal }), { message: 'enough' })
  await assert.rejects(store.search.sessions('word1', { signal: stop.signal }), /enough/)
  assert.equal((await store.search.messages('天气2999')).length, 1)
})

test('finds in a big file what it finds in a small one, in every order', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  // Enough messages for the ways in which big files are searched; times that step back now and then.
  const total = 17_000
  await store.transaction(async ({ db }) => {
    for (let from = 0; from < total; from += 1000) {
      const rows = Array.from({ length: 1000 }, (_, index) => ({
        session_id: 's',
        role: 'user',
        content: textOf(from + index),
        timestamp: timeOf(from + index),
      }))
      await db.insertInto('messages').values(rows).execute()
    }
  })
  const expected = (fits: (text: string) => boolean, sign: number): number[] =>
    Array.from({ length: total }, (_, index) => index)
      .filter((index) => fits(textOf(index)))
      .toSorted((a, b) => sign * (timeOf(a) - timeOf(b) || a - b))
      .map((index) => index + 1)
      .slice(0, 50)

  for (let round = 0; round < 2; round += 1) {
    for (const [query, fits] of Object.entries(CASES)) {
      for (const [sort, sign] of [
        ['newest', -1],
        ['oldest', 1],
      ] as const) {
        const first = await store.search.find(query, { sort, limit: 30 })
        const cursor = first.nextCursor
        const second = cursor
          ? await store.search.find(query, { sort, limit: 20, cursor })
          : undefined
        const ids = [...first.hits, ...(second?.hits ?? [])].map(({ id }) => id)
        assert.deepEqual(ids, expected(fits, sign), `${query} ${sort}`)
      }
      const since = timeOf(9000)
      const until = timeOf(12_000)
      const inside = await store.search.messages(query, { since, until, limit: -1 })
      const wanted = Array.from({ length: total }, (_, index) => index).filter(
        (index) => timeOf(index) >= since && timeOf(index) < until && fits(textOf(index)),
      )
      assert.deepEqual(
        inside.map(({ id }) => id - 1).toSorted((a, b) => a - b),
        wanted,
        query,
      )
    }
  }
})

const CASES: Record<string, (text: string) => boolean> = {
  common: (text) => / common /.test(text),
  天气: (text) => text.includes('天气'),
  气: (text) => text.includes('气'),
  '天气 AND common': (text) => text.includes('天气') && / common /.test(text),
  '天气 NOT common': (text) => text.includes('天气') && !/ common /.test(text),
  rare: (text) => /rare/.test(text),
  稀: (text) => text.includes('稀'),
  '稀 AND common': (text) => text.includes('稀') && / common /.test(text),
}

function textOf(index: number): string {
  const parts = [`message ${index} `]
  if (index % 2 === 0) parts.push('has common words')
  if (index % 3 === 0) parts.push('今天天气好')
  if (index % 1500 === 7) parts.push('稀rare有')
  return parts.join('; ')
}

function timeOf(index: number): number {
  // One message in a thousand comes from a clock that is far off.
  const step = index % 1000 === 3 ? (index % 2000 === 3 ? 20_000 : -20_000) : 0
  return 1_770_000_000 + index + step
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'

import { parseQuery } from '../../src/repositories/search-parser.ts'
import { SEARCH_MESSAGES, storeOfSearchMessages } from '../support/search-messages.ts'
import { fits, readings } from '../support/search-oracle.ts'

interface Pair {
  readonly script: string
  readonly query: string
  /** All messages that fit, by id. */
  readonly ids: readonly number[]
}

/** What no index of the agent has, though reading everything would find it (docs/search.md). */
const OUT_OF_REACH: Record<string, readonly number[]> = {
  // Accents in what the agent's JSON has escaped have to be typed.
  naive: [66],
  ete: [66],
  // The agent's word index keeps letters with two marks as they are.
  pho: [14],
}

const pairs = JSON.parse(
  readFileSync(new URL('../fixtures/search-pairs.json', import.meta.url), 'utf8'),
) as Pair[]

test('the pairs are what reading every message gives', () => {
  const texts = SEARCH_MESSAGES.map(({ content, toolName, toolCalls }) =>
    readings(`${content ?? ''} ${toolName ?? ''} ${toolCalls ?? ''}`),
  )

  assert.ok(pairs.length >= 300, String(pairs.length))
  assert.ok(new Set(pairs.map(({ script }) => script)).size >= 8)
  for (const { query, ids } of pairs) {
    const { expression } = parseQuery(query)
    assert.ok(expression)
    const found = texts.flatMap((text, index) => (fits(expression, text) ? [index + 1] : []))
    assert.deepEqual(found, ids, query)
  }
})

test('finds every place where a term stands, in every script', async (t) => {
  const store = await storeOfSearchMessages(t)
  const wrong: string[] = []

  for (const { script, query, ids } of pairs) {
    const hits = await store.search.messages(query, { limit: -1 })
    const found = new Set(hits.map(({ id }) => id))
    const missing = ids.filter((id) => !found.has(id) && !OUT_OF_REACH[query]?.includes(id))
    // More than the pair says is the agent's doing, for instance in its searches by LIKE.
    if (missing.length > 0) wrong.push(`${script} ${query}: lacks ${missing.join()}`)
  }

  assert.deepEqual(wrong, [])
})

test('page by page finds the same, by time too', async (t) => {
  const store = await storeOfSearchMessages(t)

  for (const { query } of pairs.filter((_, index) => index % 7 === 0)) {
    const all = await store.search.messages(query, { limit: -1 })
    for (const sort of ['relevance', 'newest', 'oldest'] as const) {
      const paged: number[] = []
      let cursor: string | undefined
      do {
        const page = await store.search.find(query, { sort, limit: 3, ...(cursor && { cursor }) })
        paged.push(...page.hits.map(({ id }) => id))
        cursor = page.nextCursor
      } while (cursor)
      const ids = all.map(({ id }) => id)
      if (sort === 'relevance') assert.deepEqual(paged, ids, query)
      else {
        const sign = sort === 'newest' ? -1 : 1
        assert.deepEqual(
          paged,
          ids.toSorted((a, b) => sign * (a - b)),
          query,
        )
      }
    }
  }
})

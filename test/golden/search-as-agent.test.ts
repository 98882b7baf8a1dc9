import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import { openStore } from '../../src/index.ts'
import { agentIndexSql, agentLikeSql } from '../support/agent-search.ts'
import { readGolden } from '../support/golden-cases.ts'
import { withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

interface RecordedQuery {
  in: string
  path: 'none' | 'fts' | 'trigram' | 'like'
  match?: string
  fts_error?: string | null
  patterns?: string[]
  snippet_token?: string
}

/** What we find beyond, because punctuation at a word says nothing: the agent looks for `2?`. */
const MORE: Record<string, number[]> = { '"大 OR 2?': [60, 2, 1] }

test('finds what the statements of the agent find, in their order', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(new URL('main.db', import.meta.url), file)
  await using store = await openStore({ path: file })
  const recorded = ['sanitizer', 'sanitizer_fuzz'].flatMap(
    (name) => readGolden(name) as RecordedQuery[],
  )
  const answered = recorded
    .map((query) => ({ query: query.in, ...agentStatement(query) }))
    .filter(({ query, sql }) => sql !== '' && !saysMoreThanTheAgentHears(query))
    .map((search) => ({
      ...search,
      expected: withFile(file, (db) => db.prepare(search.sql).all(search.values) as Found[]),
    }))
    .filter(({ expected }) => expected.length > 0)

  assert.ok(answered.length > 50, String(answered.length))
  for (const { query, expected } of answered) {
    const hits = await store.search.messages(query, { limit: -1 })
    const more = MORE[query] ?? []
    assert.deepEqual(
      hits.slice(0, expected.length).map(toFound),
      expected.map(toFound),
      JSON.stringify(query),
    )
    assert.deepEqual(
      hits.slice(expected.length).map((hit) => hit.id),
      more,
      JSON.stringify(query),
    )
  }
})

interface Found {
  id: number
  snippet: string | null
}

function toFound({ id, snippet }: Found): Found {
  return { id, snippet }
}

function agentStatement(query: RecordedQuery): { sql: string; values: (string | number)[] } {
  const { match = '', patterns = [], snippet_token = '' } = query
  if (query.path === 'none' || query.fts_error) return { sql: '', values: [] }
  if (query.path === 'like') {
    const values = patterns.flatMap((pattern) => [pattern, pattern, pattern])
    return { sql: agentLikeSql(patterns.length), values: [snippet_token, ...values, -1, 0] }
  }
  const index = query.path === 'fts' ? 'messages_fts' : 'messages_fts_trigram'
  return { sql: agentIndexSql(index), values: [match, -1, 0] }
}

/** AND and NOT, which the agent takes for OR in a search by LIKE. */
function saysMoreThanTheAgentHears(query: string): boolean {
  return /[^\0-\x7f]/.test(query) && /\b(?:AND|NOT)\b/.test(query)
}

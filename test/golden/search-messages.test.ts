import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import { openStore, type SearchHit, type SearchOptions } from '../../src/index.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'
import { tempFolder } from '../support/temp-store.ts'

interface RecordedSearch {
  query: string
  kwargs: {
    source_filter?: string[]
    exclude_sources?: string[]
    role_filter?: string[]
    limit?: number
    offset?: number
    sort?: string
  }
  result: { id: number }[]
  rank_ties?: boolean
}

const SYNTAX = 'the agent swallows an FTS5 syntax error; we find the text'
const QUOTES = 'the agent leaves quotes inside of its terms (spec §21, 6)'
const ESCAPES = 'the agent does not find what its own JSON stores as \\uXXXX (spec §6)'

/** Searches in which we differ on purpose (DESIGN §5), with what we find instead. */
const DIFFERING: Record<string, { reason: string; ids: number[] }> = {
  'kubernetes AND NOT deploy': { reason: SYNTAX, ids: [6, 50, 2] },
  '50%': { reason: SYNTAX, ids: [21] },
  'hello AND AND': { reason: SYNTAX, ids: [24] },
  'looks fine.': { reason: SYNTAX, ids: [12] },
  'pod/web-0': { reason: SYNTAX, ids: [4] },
  '"大别山项目" OR "서울타워"': { reason: QUOTES, ids: [23, 20] },
  '"部署进度" 大别山': { reason: QUOTES, ids: [20] },
  '广西 AND 不存在': { reason: 'to the agent this AND is an OR (spec §21, 6)', ids: [] },
  'NEAR(deploy kubernetes)': { reason: 'NEAR is asked for; to the agent it is a word', ids: [1] },
  '大别山项目*': { reason: 'to the agent this star is text', ids: [20] },
  '🚀': {
    reason: 'the word index has no emoji; a term is found wherever it stands',
    ids: [40, 24],
  },
  键: { reason: ESCAPES, ids: [30] },
  天气: { reason: ESCAPES, ids: [26, 25] },
  '广西 OR 漓江': { reason: ESCAPES, ids: [21, 25] },
  '天气 漓江': { reason: ESCAPES, ids: [26, 21, 25] },
}

test('finds what the agent found, in its order', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(new URL('main.db', import.meta.url), file)
  await using store = await openStore({ path: file })
  const recorded = readGolden('search_messages') as RecordedSearch[]
  const found = new Map<RecordedSearch, SearchHit[]>()
  for (const search of recorded) {
    found.set(search, await store.search.messages(search.query, toOptions(search.kwargs)))
  }

  assertGolden(
    recorded,
    nameOf,
    (search) => {
      const hits = found.get(search)?.map(toAgentHit) ?? []
      // Equal ranks come in no promised order.
      const inOrder = search.rank_ties ? byId : (list: { id: number }[]) => list
      assert.deepEqual(inOrder(hits), inOrder(search.result))
    },
    Object.fromEntries(Object.entries(DIFFERING).map(([name, { reason }]) => [name, reason])),
  )
  for (const search of recorded) {
    const difference = DIFFERING[nameOf(search)]
    if (!difference) continue
    const ids = found.get(search)?.map((hit) => hit.id) ?? []
    assert.deepEqual(ids, difference.ids, search.query)
    // What the agent finds comes first, in its order, unless it took AND for OR.
    if (/\b(?:AND|NEAR)\b/.test(search.query)) continue
    const agents = search.result.map((hit) => hit.id)
    assert.deepEqual(ids.slice(0, agents.length), agents, search.query)
  }
})

function nameOf({ query, kwargs }: RecordedSearch): string {
  return Object.keys(kwargs).length === 0 ? query : `${query} ${JSON.stringify(kwargs)}`
}

function toOptions(kwargs: RecordedSearch['kwargs']): SearchOptions {
  const { source_filter, exclude_sources, role_filter, ...same } = kwargs
  return {
    ...same,
    ...(source_filter && { sources: source_filter }),
    ...(exclude_sources && { excludeSources: exclude_sources }),
    ...(role_filter && { roles: role_filter }),
  }
}

function toAgentHit(hit: SearchHit) {
  const { id, role, snippet, timestamp, source, model, context } = hit
  return {
    id,
    role,
    snippet,
    timestamp,
    source,
    model,
    context,
    session_id: hit.sessionId,
    tool_name: hit.toolName,
    session_started: hit.sessionStarted,
  }
}

function byId(hits: { id: number }[]): { id: number }[] {
  return hits.toSorted((a, b) => a.id - b.id)
}

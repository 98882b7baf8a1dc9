import SqliteDatabase from 'better-sqlite3'

import { openStore } from '../src/index.ts'
import { planSearch, sanitizeSearchQuery } from '../src/repositories/search-query.ts'
import { agentContextSql, agentIndexSql, agentLikeSql } from '../test/support/agent-search.ts'
import type { BenchRow, BenchSuite } from './row.ts'
import { COMMON_WORD, RARE_WORD } from './search-corpus.ts'
import { searchFile } from './search-file.ts'

const MESSAGES = 200_000
const LIMIT = 20
/** Each search is repeated for about this long, at least three times. */
const BUDGET_MS = 1500

const QUERIES: readonly [name: string, query: string][] = [
  ['rare word', RARE_WORD],
  ['common word', COMMON_WORD],
  ['phrase', '"deploy the"'],
  ['prefix', 'word123*'],
  ['trigram, 5 characters', '大别山项目'],
  ['2 characters CJK', '天气'],
]

/** `search.messages` beside the agent's own statements, prepared once, in the same process. */
export const searchSuite: BenchSuite = { name: 'search', rows }

async function* rows(): AsyncGenerator<BenchRow> {
  const file = await searchFile(MESSAGES)
  await using store = await openStore({ path: file, readonly: true })
  const db = new SqliteDatabase(file, { readonly: true })
  try {
    for (const [name, query] of QUERIES) {
      const agent = agentSearch(db, query)
      const search = (): Promise<unknown> => store.search.messages(query, { limit: LIMIT })
      const [ours, theirs] = await medians(search, agent)
      yield {
        name: `search ${MESSAGES.toLocaleString('en')} messages: ${name}`,
        ours,
        unit: 'ms',
        against: { name: "v11's SQL", value: theirs },
        goal: { atMost: 1.25 },
      }
    }
  } finally {
    db.close()
  }
}

interface AgentRow {
  id: number
  session_id: string
  timestamp: number
}

/** The search and then, as the agent does it, one look at the surroundings of each hit. */
function agentSearch(db: SqliteDatabase.Database, query: string): () => void {
  const plan = planSearch(sanitizeSearchQuery(query))
  if (plan.route === 'none') throw new Error(`nothing to search for in ${query}`)
  const like = plan.route === 'like' ? plan.tokens : []
  const index = plan.route === 'fts' ? 'messages_fts' : 'messages_fts_trigram'
  const sql = plan.route === 'like' ? agentLikeSql(like.length) : agentIndexSql(index)
  const values =
    plan.route === 'like'
      ? [like[0], ...like.flatMap((token) => Array.from({ length: 3 }, () => `%${token}%`))]
      : [plan.match]
  const search = db.prepare(sql)
  const context = db.prepare(agentContextSql)
  return () => {
    for (const hit of search.all(...values, LIMIT, 0) as AgentRow[]) {
      const place = [hit.session_id, hit.timestamp, hit.timestamp, hit.id]
      context.all(...place, ...place, ...place)
    }
  }
}

/** Of both in turn, so that what else the machine does strikes both. */
async function medians(
  ours: () => Promise<unknown>,
  theirs: () => void,
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  await ours()
  theirs()
  const end = performance.now() + BUDGET_MS
  while (performance.now() < end || times[0].length < 3) {
    let start = performance.now()
    await ours()
    times[0].push(performance.now() - start)
    start = performance.now()
    theirs()
    times[1].push(performance.now() - start)
  }
  return [median(times[0]), median(times[1])]
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0
}

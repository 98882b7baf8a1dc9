import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'

import SqliteDatabase from 'better-sqlite3'
import * as fc from 'fast-check'

import { InvalidQueryError, type Store } from '../../src/index.ts'
import { parseQuery, type ParsedQuery } from '../../src/repositories/search-parser.ts'
import { agentAnswers } from '../../src/repositories/search-plan.ts'
import { planSearch, sanitizeSearchQuery } from '../../src/repositories/search-query.ts'
import { agentIndexSql, agentLikeSql } from '../support/agent-search.ts'
import { fits, readings } from '../support/search-oracle.ts'
import { SEARCH_MESSAGES, storeOfSearchMessages } from '../support/search-messages.ts'

/** `HERMES_FUZZ_RUNS=100000` for the whole of it. */
const RUNS = Number(process.env['HERMES_FUZZ_RUNS'] ?? 1500)

const fragment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...vocabulary()) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 3 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 6 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...' |  |"|""|*|**|(|)|((|))|:|^|+|-| -|--|.|_|%|\\|/|\0|\0Q0\0|\ud83d|\u3000|\ufeff|\u200d'.split(
        '|',
      ),
      ...' AND | OR | NOT | and | or | not |AND|OR|NOT|NEAR(|, 5)|,2)|NEAR/3 |content:|{content}:|- content : '.split(
        '|',
      ),
    ),
  },
)

/** Queries out of everything, and what the messages say with a piece changed. */
const anyQuery = fc.oneof(
  fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join('')),
  fc
    .tuple(fc.constantFrom(...SEARCH_MESSAGES), fc.nat(), fc.nat({ max: 30 }), fragment, fc.nat())
    .map(([{ content }, start, length, piece, place]) => {
      const text = content ?? ''
      const part = text.slice(start % (text.length + 1)).slice(0, length)
      const at = place % (part.length + 1)
      return part.slice(0, at) + piece + part.slice(at)
    }),
)

test(`no query makes it throw anything else, or find what does not fit (${RUNS} queries)`, async (t) => {
  const store = await storeOfSearchMessages(t)
  const agent = agentOf(t, store)
  const texts = new Map(agent.texts().map(({ id, text }) => [id, readings(text)]))

  await fc.assert(
    fc.asyncProperty(anyQuery, async (query) => {
      const hits = await found(store, query)
      if (!hits) return

      const parsed = parseQuery(query.toWellFormed())
      const { expression } = parsed
      const agents = agent.answer(query.toWellFormed(), parsed)
      for (const id of hits) {
        const fitsToo = expression !== undefined && fits(expression, texts.get(id) ?? [])
        assert.ok(fitsToo || agents.includes(id), `${JSON.stringify(query)} finds ${id}`)
      }
      assert.deepEqual(hits.slice(0, agents.length), agents, JSON.stringify(query))
    }),
    { numRuns: RUNS },
  )
})

async function found(store: Store, query: string): Promise<number[] | undefined> {
  try {
    const hits = await store.search.messages(query, { limit: -1 })
    return hits.map(({ id }) => id)
  } catch (error) {
    assert.ok(error instanceof InvalidQueryError, String(error))
    return undefined
  }
}

/** The agent's statements on the same file; what it finds where its reading is not ours is left out. */
function agentOf(t: TestContext, store: Store) {
  const db = new SqliteDatabase(store.path, { readonly: true })
  t.after(() => db.close())
  return {
    texts: () =>
      db
        .prepare<[], { id: number; text: string }>(
          `select id, coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' ||
             coalesce(tool_calls, '') as text from messages`,
        )
        .all(),
    answer(query: string, parsed: ParsedQuery): number[] {
      const plan = planSearch(sanitizeSearchQuery(query))
      if (plan.route === 'none' || !agentAnswers(plan, parsed)) return []
      const statement =
        plan.route === 'like'
          ? agentLikeSql(plan.tokens.length)
          : agentIndexSql(plan.route === 'fts' ? 'messages_fts' : 'messages_fts_trigram')
      const values =
        plan.route === 'like'
          ? [plan.tokens[0], ...plan.tokens.flatMap((token) => Array(3).fill(likePattern(token)))]
          : [plan.match]
      try {
        const rows = db.prepare(statement).all(...values, -1, 0) as { id: number }[]
        return rows.map(({ id }) => id)
      } catch (error) {
        assert.ok(error instanceof SqliteDatabase.SqliteError, String(error))
        return []
      }
    },
  }
}

function likePattern(token: string): string {
  return `%${token.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
}

function vocabulary(): string[] {
  const words = SEARCH_MESSAGES.flatMap(({ content, toolName }) =>
    `${content ?? ''} ${toolName ?? ''}`.split(/\s+/),
  )
  return [...new Set(words)].filter((word) => word !== '')
}

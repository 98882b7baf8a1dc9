import type { Expression, SqlBool } from 'kysely'

import { hasTrigram, hasWord, parseLoosely, toLikeAlternatives, toMatch } from './loose-query.ts'
import type { LooseClause } from './loose-query.ts'
import { fitsAny, hasGluedWords, hasNone } from './search-filters.ts'
import { planSearch, sanitizeSearchQuery, type SearchPlan } from './search-query.ts'
import type { SearchIndexName } from './search-statements.ts'

/** One way to look for what a query says. */
export type SearchAttempt = {
  /** To be made only when FTS5 could not read the attempt before. */
  readonly onlyIfRefused?: boolean
} & (
  | {
      readonly kind: 'index'
      readonly index: SearchIndexName
      readonly match: string
      readonly filter?: Expression<SqlBool>
    }
  /** Reads every message; the excerpt is around `term`. */
  | { readonly kind: 'scan'; readonly term: string; readonly filter: Expression<SqlBool> }
)

/**
 * The agent's own way first (spec §13.3), so that whatever it finds is found in its order; then
 * those for queries to which it answers nothing, though what they ask for is there.
 */
export function* searchAttempts(query: string): Generator<SearchAttempt> {
  const sanitized = sanitizeSearchQuery(query)
  const plan = planSearch(sanitized)
  if (plan.route === 'fts') yield* wordAttempts(plan.match)
  if (plan.route === 'trigram') yield* trigramAttempts(sanitized, plan.match)
  if (plan.route === 'like') yield* scanAttempts(sanitized, plan)
}

function* wordAttempts(match: string): Generator<SearchAttempt> {
  const clauses = parseLoosely(match)
  if (clauses.length === 0) return
  yield { kind: 'index', index: 'messages_fts', match }

  const loose = toMatch(clauses, hasWord)
  if (loose !== '') {
    yield { kind: 'index', index: 'messages_fts', match: loose, onlyIfRefused: true }
  } else {
    // Nothing but punctuation.
    yield { ...scanFor(clauses), onlyIfRefused: true }
  }

  const words = plainWords(clauses)
  if (words[0] === undefined) return
  // To the index a Latin word glued to Chinese text is part of one long word.
  const filter = hasGluedWords(words)
  const long = toMatch(clauses, hasTrigram)
  yield long === ''
    ? { kind: 'scan', term: words[0], filter }
    : { kind: 'index', index: 'messages_fts_trigram', match: long, filter }
}

function* trigramAttempts(sanitized: string, match: string): Generator<SearchAttempt> {
  const index = 'messages_fts_trigram'
  const clauses = parseLoosely(sanitized)
  // The index passes over terms it cannot hold, and so over a NOT in front of them.
  const [only, ...others] = clauses
  const unseen =
    only && others.length === 0
      ? only.none.flatMap(([term, ...more]) =>
          term && more.length === 0 && !hasTrigram(term.text) ? [term.text] : [],
        )
      : []
  yield unseen.length === 0
    ? { kind: 'index', index, match }
    : { kind: 'index', index, match, filter: hasNone(unseen) }

  const terms = clauses.flatMap(({ every, none }) => [...every, ...none.flat()])
  if (!terms.every((term) => hasTrigram(term.text))) yield scanFor(clauses)
  else {
    // Of several phrases the agent makes terms with quotes in them.
    const onlyIfRefused = !sanitized.includes('"')
    yield { kind: 'index', index, match: toMatch(clauses, hasTrigram), onlyIfRefused }
  }
}

function* scanAttempts(
  sanitized: string,
  plan: SearchPlan & { route: 'like' },
): Generator<SearchAttempt> {
  yield { kind: 'scan', term: plan.tokens[0] ?? '', filter: fitsAny(plan.alternatives) }

  // The agent leaves quotes in the terms.
  if (!plan.tokens.some((token) => token.includes('"'))) return
  const bare = planSearch(sanitized.replaceAll('"', ''))
  if (bare.route !== 'like') return
  yield { kind: 'scan', term: bare.tokens[0] ?? '', filter: fitsAny(bare.alternatives) }
}

function scanFor(clauses: readonly LooseClause[]): SearchAttempt {
  return {
    kind: 'scan',
    term: clauses[0]?.every[0]?.text ?? '',
    filter: fitsAny(toLikeAlternatives(clauses)),
  }
}

/** The words of a query that is nothing but words in ASCII, else none. */
function plainWords(clauses: readonly LooseClause[]): string[] {
  const [only, ...others] = clauses
  if (!only || others.length > 0 || only.none.length > 0) return []
  const isPlain = only.every.every((term) => !term.isPrefix && /^[0-9a-z]{1,64}$/i.test(term.text))
  return isPlain ? [...new Set(only.every.map((term) => term.text))] : []
}

import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely'

import type { SearchExpression } from '../schema/search-expression.ts'
import type { IndexState } from './index-state.ts'
import {
  candidatesByText,
  candidatesOf,
  selectCandidates,
  selectMatching,
  type Candidates,
} from './search-candidates.ts'
import { occursAny } from './search-filters.ts'
import { hasTrigrams, hasWords, toMatch } from './search-match.ts'
import type { ParsedQuery } from './search-parser.ts'
import { planSearch, sanitizeSearchQuery, type SearchPlan } from './search-query.ts'
import { indexedText, noExcerpt } from './search-statements.ts'
import type { Excerpts, IdRange, SearchIndexName } from './search-statements.ts'

type Condition = Expression<SqlBool>

/** One way to look; an answer consists of what each finds beyond those before. */
export type SearchPass = IndexPass | ReadPass

interface CommonPass {
  /** Not to be made when one before, the agent's, gave an answer, or when it found anything. */
  readonly unless?: 'answered' | 'found'
  /** The messages it finds among these ids, to keep them out of later passes. */
  found(ids: IdRange): Condition
}

export interface IndexPass extends CommonPass {
  readonly kind: 'index'
  readonly index: SearchIndexName
  readonly match: string
  readonly filters: readonly Condition[]
  /** FTS5 may not be able to read the agent's form of the query. */
  readonly mayBeRefused: boolean
}

/** Reads the text of messages to see whether they fit. */
export interface ReadPass extends CommonPass, Excerpts {
  readonly kind: 'read'
  /** In each of which to look; none for everywhere. */
  readonly sets: readonly Candidates[]
  /** The ids between which the indexes hold every message; undefined for all. */
  readonly reach: IdRange | undefined
  /** The agent orders what it finds like this by time, whatever is asked for. */
  readonly isAgents: boolean
}

/**
 * The agent's own way first (spec §13.3), so that whatever it finds is found in its order; then the
 * query as it was meant, by rank where an index can tell, and at last wherever else it stands.
 */
export function planPasses(query: string, parsed: ParsedQuery, state: IndexState): SearchPass[] {
  const plan = planSearch(sanitizeSearchQuery(query))
  const { expression } = parsed
  const agents = agentAnswers(plan, parsed) ? agentPass(plan, state, expression) : undefined
  const passes = agents ? [agents] : []
  if (!expression) return passes
  const fits = sql<SqlBool>`store_fits(${JSON.stringify(expression)}, ${indexedText})`
  const ranked = state.kind === 'unusable' ? undefined : rankedPass(plan, expression, agents, fits)
  if (ranked) passes.push(ranked)
  return [...passes, readPass(expression, state, fits)]
}

/**
 * Whether the agent understands the query. Brackets and NEAR mean nothing to it, nor do AND and NOT
 * beside short CJK terms, emoji and other signs.
 */
export function agentAnswers(plan: SearchPlan, parsed: ParsedQuery): boolean {
  if (parsed.isRegrouped) return false
  if (plan.route === 'like') return !parsed.hasLogic
  if (plan.route === 'fts' && parsed.hasLogic) {
    return !parsed.expression || !dependsOnSigns(parsed.expression, / AND /.test(plan.match))
  }
  if (plan.route !== 'trigram' || !parsed.hasLogic) return true
  // The trigram index passes over terms that are shorter, and so over a NOT in front of them.
  return !parsed.hasMinus && plan.tokens.every((text) => /^.{3}/su.test(text))
}

/**
 * Whether an AND or NOT is about a sign: the word index has none, and passes over the operator, too.
 * Signs that are mere neighbours of words are left to the agent, which passes over them.
 */
function dependsOnSigns(expression: SearchExpression, hasAnd: boolean): boolean {
  const depends = (part: SearchExpression): boolean => dependsOnSigns(part, hasAnd)
  const isSignOrDepends = (part: SearchExpression): boolean =>
    part.kind === 'term' ? !hasWords(part) : depends(part)
  switch (expression.kind) {
    case 'and':
      return expression.parts.some(hasAnd ? isSignOrDepends : depends)
    case 'or':
      return expression.parts.some(depends)
    case 'not':
      return depends(expression.wanted) || expression.unwanted.some(isSignOrDepends)
    default:
      return false
  }
}

function agentPass(
  plan: SearchPlan,
  state: IndexState,
  expression: SearchExpression | undefined,
): SearchPass | undefined {
  if (plan.route === 'none') return undefined
  if (plan.route !== 'like') {
    if (state.kind === 'unusable') return undefined
    const index = plan.route === 'fts' ? 'messages_fts' : 'messages_fts_trigram'
    return { ...indexPass(index, plan.match), mayBeRefused: true }
  }
  const any = occursAny(plan.tokens)
  const hasSets = state.kind === 'usable' && !plan.tokens.some((text) => text.includes('\0'))
  return {
    kind: 'read',
    found: () => any,
    sets: hasSets ? [candidatesByText(plan.tokens)] : [],
    reach: reachOf(state),
    ...agentExcerpts(plan.tokens[0] ?? '', expression),
    isAgents: true,
  }
}

/** Undefined where the agent's own query says the same. */
function rankedPass(
  plan: SearchPlan,
  expression: SearchExpression,
  agents: SearchPass | undefined,
  fits: Condition,
): IndexPass | undefined {
  const isCjk = plan.route === 'trigram' || plan.route === 'like'
  // Of several phrases the agent makes terms with quotes in them.
  const hasQuotes = plan.route === 'trigram' && plan.match.includes('""')
  if (agents && isCjk && !hasQuotes) return undefined
  const index = isCjk ? 'messages_fts_trigram' : 'messages_fts'
  const match = toMatch(expression, isCjk ? hasTrigrams : hasWords)
  if (match === '') return undefined
  const pass = { ...indexPass(index, match), filters: [fits] }
  return agents && !isCjk ? { ...pass, unless: 'answered' } : pass
}

function readPass(expression: SearchExpression, state: IndexState, fits: Condition): ReadPass {
  return {
    kind: 'read',
    found: () => fits,
    sets: state.kind === 'usable' ? candidatesOf(expression) : [],
    reach: reachOf(state),
    snippet: ownExcerpt(expression),
    otherExcerpt: noExcerpt,
    isAgents: false,
    // Without an index to tell where, it would be too much to read everything for a few more.
    ...(state.kind === 'newer' && { unless: 'found' }),
  }
}

function indexPass(index: SearchIndexName, match: string): IndexPass {
  return {
    kind: 'index',
    index,
    match,
    filters: [],
    found: (ids) => sql<SqlBool>`m.id in (${selectMatching(index, match, ids)})`,
    mayBeRefused: false,
  }
}

function reachOf(state: IndexState): IdRange | undefined {
  return state.kind === 'usable' ? state.reach : undefined
}

/** Whether a message is in the set, or not indexed yet. */
export function isAmong(set: Candidates, { reach }: ReadPass, ids: IdRange): Condition {
  if (set.isEverywhere) return sql<SqlBool>`true`
  const isIn = sql<SqlBool>`m.id in (${selectCandidates(set, ids)})`
  if (!reach) return isIn
  return sql<SqlBool>`(${isIn}
    or m.id < cast(${reach.low} as integer) or m.id > cast(${reach.high} as integer))`
}

/**
 * The agent's excerpt of what it finds by LIKE, which is always of the content, and our own where the
 * first term is not in that. A cast, because the content may be bytes.
 */
function agentExcerpts(term: string, expression: SearchExpression | undefined): Excerpts {
  const snippet = sql<string | null>`
    cast(substr(m.content, max(1, instr(m.content, ${term}) - 40), 120) as text)`
  if (!expression) return { snippet, otherExcerpt: noExcerpt }
  const otherExcerpt = sql<string | null>`
    iif(instr(m.content, ${term}) > 0, null, ${ownExcerpt(expression)})`
  return { snippet, otherExcerpt }
}

function ownExcerpt(expression: SearchExpression): RawBuilder<string> {
  return sql<string>`store_excerpt(${JSON.stringify(expression)}, ${indexedText})`
}

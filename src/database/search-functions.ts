import type { Database as RawConnection, Statement } from 'better-sqlite3'

import type { SearchExpression } from '../schema/search-expression.ts'
import { excerptOf } from '../schema/search-excerpt.ts'
import { matcherOf, type SearchMatcher } from '../schema/search-matcher.ts'

/**
 * Gives a connection what search needs beside the agent's indexes: `store_fits(expression, text)` and
 * `store_excerpt(expression, text)`.
 */
export function addSearchFunctions(raw: RawConnection): void {
  let known: { expression: string; matcher: SearchMatcher } | undefined
  const matcherFor = (expression: string): SearchMatcher => {
    if (known?.expression !== expression) {
      known = { expression, matcher: matcherOf(JSON.parse(expression) as SearchExpression) }
    }
    return known.matcher
  }
  const options = { deterministic: true, directOnly: true }
  raw.function('store_fits', options, (expression, text) =>
    matcherFor(expression as string).fits(text as string) ? 1 : 0,
  )
  raw.function('store_excerpt', options, (expression, text) =>
    excerptOf(matcherFor(expression as string), text as string),
  )
}

/**
 * Prepares a statement. The first that reads `temp.store_grams`, the places of the terms of the trigram
 * index, makes that: not every connection needs it, and as it opens none should touch the file for it.
 */
export function prepareSearch(raw: RawConnection, sql: string): Statement {
  try {
    return raw.prepare(sql)
  } catch (error) {
    if (!(error instanceof Error) || error.message !== 'no such table: temp.store_grams')
      throw error
    raw.exec(
      `create virtual table temp.store_grams using fts5vocab(main, messages_fts_trigram, instance)`,
    )
    return raw.prepare(sql)
  }
}

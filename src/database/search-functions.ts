import type { Database as RawConnection } from 'better-sqlite3'

import type { SearchExpression } from '../schema/search-expression.ts'
import { excerptOf } from '../schema/search-excerpt.ts'
import { matcherOf, type SearchMatcher } from '../schema/search-matcher.ts'

/**
 * Gives a connection what search needs beside the agent's indexes: `store_fits(expression, text)`,
 * `store_excerpt(expression, text)`, and `temp.store_grams`, a view on the terms of the trigram index.
 * Nothing of it is in the file.
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
  raw.exec(
    `create virtual table if not exists temp.store_grams
     using fts5vocab(main, messages_fts_trigram, instance)`,
  )
}

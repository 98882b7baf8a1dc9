import { sql, type RawBuilder, type SqlBool } from 'kysely'

import { InvalidInputError } from '../errors.ts'
import type { LikeAlternative } from './search-query.ts'

/** Each takes three of SQLite's 32,766 variables. */
const MOST_TERMS = 5000
/** SQLite's own limit for a pattern, with room for the wildcards. */
const LONGEST_TERM_BYTES = 49_000

/**
 * Whether a message `m` fits any of the alternatives, by LIKE.
 * @throws {InvalidInputError} for more than 5,000 terms, or one of more than 49,000 bytes.
 */
export function fitsAny(alternatives: readonly LikeAlternative[]): RawBuilder<SqlBool> {
  const distinct = alternatives.map(({ every, none }) => ({
    every: every.map((group) => [...new Set(group)]),
    none: [...new Set(none)],
  }))
  const terms = distinct.flatMap(({ every, none }) => [...every.flat(), ...none])
  if (terms.length > MOST_TERMS) {
    throw new InvalidInputError('query', `has more than ${MOST_TERMS} terms`)
  }
  return joined('or', distinct.map(fits))
}

/** Whether none of the terms occurs in a message `m`. */
function hasNone(terms: readonly string[]): RawBuilder<SqlBool> {
  // Not `not`: of columns that are all null it would make null.
  return sql<SqlBool>`${joined('or', terms.map(occurs))} is not true`
}

function fits({ every, none }: LikeAlternative): RawBuilder<SqlBool> {
  const wanted = joined(
    'and',
    every.map((group) => joined('or', group.map(occurs))),
  )
  return none.length === 0 ? wanted : sql<SqlBool>`(${wanted} and ${hasNone(none)})`
}

function occurs(term: string): RawBuilder<SqlBool> {
  if (Buffer.byteLength(term) > LONGEST_TERM_BYTES) {
    throw new InvalidInputError('query', `has a term of more than ${LONGEST_TERM_BYTES} bytes`)
  }
  const pattern = `%${term.replace(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<SqlBool>`(m.content like ${pattern} escape '\\'
    or m.tool_name like ${pattern} escape '\\' or m.tool_calls like ${pattern} escape '\\')`
}

/** As a balanced tree: a chain of a thousand is more than SQLite nests. */
function joined(
  operator: 'and' | 'or',
  parts: readonly RawBuilder<SqlBool>[],
): RawBuilder<SqlBool> {
  const [first] = parts
  if (first === undefined) throw new Error(`nothing to join by ${operator}`)
  if (parts.length === 1) return first
  const half = parts.length >> 1
  const left = joined(operator, parts.slice(0, half))
  const right = joined(operator, parts.slice(half))
  return sql<SqlBool>`(${left} ${sql.raw(operator)} ${right})`
}

import { sql, type RawBuilder, type SqlBool } from 'kysely'

import { InvalidInputError } from '../errors.ts'

/** Each takes three of SQLite's 32,766 variables. */
const MOST_TEXTS = 5000
/** SQLite's own limit for a pattern, with room for the wildcards. */
const LONGEST_TEXT_BYTES = 49_000

/**
 * Whether any of the texts occurs in a message `m`, by LIKE, as the agent looks for it.
 * @throws {InvalidInputError} for more than 5,000 texts, or one of more than 49,000 bytes.
 */
export function occursAny(texts: readonly string[]): RawBuilder<SqlBool> {
  const distinct = [...new Set(texts)]
  if (distinct.length > MOST_TEXTS) {
    throw new InvalidInputError('query', `has more than ${MOST_TEXTS} terms`)
  }
  return anyOf(distinct.map(occurs))
}

function occurs(text: string): RawBuilder<SqlBool> {
  if (Buffer.byteLength(text) > LONGEST_TEXT_BYTES) {
    throw new InvalidInputError('query', `has a term of more than ${LONGEST_TEXT_BYTES} bytes`)
  }
  const pattern = `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<SqlBool>`(m.content like ${pattern} escape '\\'
    or m.tool_name like ${pattern} escape '\\' or m.tool_calls like ${pattern} escape '\\')`
}

/** As a balanced tree: a chain of a thousand is more than SQLite nests. */
function anyOf(parts: readonly RawBuilder<SqlBool>[]): RawBuilder<SqlBool> {
  const [first] = parts
  if (first === undefined) throw new Error('nothing to look for')
  if (parts.length === 1) return first
  const half = parts.length >> 1
  return sql<SqlBool>`(${anyOf(parts.slice(0, half))} or ${anyOf(parts.slice(half))})`
}

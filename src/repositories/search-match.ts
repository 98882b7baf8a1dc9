import type { SearchExpression, SearchTerm } from '../schema/search-expression.ts'
import { hasUnspaced, wordsOf } from '../schema/search-text.ts'

/** A string of the language of FTS5, which ends it at a NUL. */
export function quoted(text: string, isPrefix = false): string {
  const inside = text.replaceAll('\0', ' ').replaceAll('"', '""')
  return isPrefix ? `"${inside}"*` : `"${inside}"`
}

/** Whether the index can find a term at all. */
type CanFind = (term: SearchTerm) => boolean

export const hasWords: CanFind = ({ text }) => wordsOf(text).length > 0
export const hasTrigrams: CanFind = ({ text }) => /^.{3}/su.test(text)

/**
 * The FTS5 query for an expression, always a valid one, that finds at least what fits it; empty when
 * that cannot be asked of the index.
 */
export function toMatch(expression: SearchExpression, canFind: CanFind): string {
  switch (expression.kind) {
    case 'term':
      if (!canFind(expression)) return ''
      return quoted(expression.text, expression.isPrefix && canFind === hasWords)
    case 'and':
      return grouped(
        expression.parts.map((part) => toMatch(part, canFind)).filter((part) => part !== ''),
        ' AND ',
      )
    case 'or': {
      const parts = expression.parts.map((part) => toMatch(part, canFind))
      return parts.includes('') ? '' : grouped(parts, ' OR ')
    }
    case 'not': {
      const wanted = toMatch(expression.wanted, canFind)
      // A word that is excluded wherever it stands; as a word alone the index tells it for certain.
      const unwanted = expression.unwanted
        .filter((part) => canFind === hasWords && part.kind === 'term' && !hasUnspaced(part.text))
        .map((part) => toMatch(part, canFind))
        .filter((part) => part !== '')
      if (wanted === '' || unwanted.length === 0) return wanted
      return `(${wanted} NOT ${grouped(unwanted, ' OR ')})`
    }
    default: {
      const terms = expression.terms.map((term) => toMatch(term, canFind))
      if (canFind !== hasWords)
        return grouped(
          terms.filter((term) => term !== ''),
          ' AND ',
        )
      return terms.includes('') ? '' : `NEAR(${terms.join(' ')}, ${expression.distance})`
    }
  }
}

function grouped(parts: readonly string[], operator: string): string {
  return parts.length < 2 ? (parts[0] ?? '') : `(${parts.join(operator)})`
}

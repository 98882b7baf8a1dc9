import { PYTHON_SPACE, pyStrip } from '../schema/python-text.ts'
import type { LikeAlternative } from './search-query.ts'

/** Words that must stand together, without their quotes. */
export interface LooseTerm {
  readonly text: string
  /** The last word may go on. */
  readonly isPrefix: boolean
}

/** What fits all of `every`, and none of the groups in `none` as a whole. */
export interface LooseClause {
  readonly every: readonly LooseTerm[]
  readonly none: readonly (readonly LooseTerm[])[]
}

/** What the two tokenizers can find at all: words with a letter or a digit in them, or three characters. */
export const hasWord = (text: string): boolean => /[\p{L}\p{N}\p{Co}]/u.test(text)
export const hasTrigram = (text: string): boolean => /^.{3}/su.test(text)

const CHUNK = new RegExp(`(?:"[^"]*"|[^"${PYTHON_SPACE}])+`, 'gu')

/**
 * Reads a sanitised query as a person would: whatever FTS5 could not take is text. A row that fits
 * any clause was asked for. Of stacked operators the last counts, one without a left side none, and
 * where there is nothing else they are words. They bind as in FTS5: neighbours first, then NOT, AND, OR.
 */
export function parseLoosely(sanitized: string): LooseClause[] {
  const chunks = Array.from(sanitized.matchAll(CHUNK), ([chunk]) => chunk)
  const clauses = readClauses(chunks)
  if (clauses.length > 0) return clauses
  const words = readTerms(chunks)
  return words.length === 0 ? [] : [{ every: words, none: [] }]
}

function readClauses(chunks: readonly string[]): LooseClause[] {
  const clauses: { every: LooseTerm[]; none: LooseTerm[][] }[] = []
  let operator = 'OR'
  let group: LooseTerm[] | undefined
  for (const chunk of chunks) {
    if (chunk === 'AND' || chunk === 'OR' || chunk === 'NOT') {
      operator = chunk
      group = undefined
      continue
    }
    const [term] = readTerms([chunk])
    if (!term) continue
    group ??= openGroup(operator)
    group.push(term)
  }
  return clauses

  function openGroup(joinedBy: string): LooseTerm[] {
    const last = clauses.at(-1)
    if (last === undefined || joinedBy === 'OR') {
      const every: LooseTerm[] = []
      clauses.push({ every, none: [] })
      return every
    }
    if (joinedBy === 'AND') return last.every
    const excluded: LooseTerm[] = []
    last.none.push(excluded)
    return excluded
  }
}

/** The FTS5 query for it, always a valid one; empty when no term of any clause `canFind`. */
export function toMatch(
  clauses: readonly LooseClause[],
  canFind: (text: string) => boolean,
): string {
  const all = (terms: readonly LooseTerm[]): string =>
    terms
      .filter((term) => canFind(term.text))
      .map(quoted)
      .join(' ')
  return clauses
    .map(({ every, none }) => {
      const wanted = all(every)
      const unwanted = none.map(all).filter((group) => group !== '')
      if (wanted === '' || unwanted.length === 0) return wanted
      return `(${wanted}) NOT (${unwanted.map((group) => `(${group})`).join(' OR ')})`
    })
    .filter((clause) => clause !== '')
    .map((clause) => `(${clause})`)
    .join(' OR ')
}

export function toLikeAlternatives(clauses: readonly LooseClause[]): LikeAlternative[] {
  return clauses.map(({ every, none }) => ({
    every: every.map((term) => [term.text]),
    none: none.flat().map((term) => term.text),
  }))
}

function readTerms(chunks: readonly string[]): LooseTerm[] {
  return chunks.flatMap((chunk) => {
    // FTS5 reads a query up to the first NUL.
    const text = pyStrip(chunk.replace(/["\0]/g, (mark) => (mark === '"' ? '' : ' ')))
    const isPrefix = text.endsWith('*')
    const bare = isPrefix ? text.slice(0, -1) : text
    return bare === '' ? [] : [{ text: bare, isPrefix }]
  })
}

function quoted({ text, isPrefix }: LooseTerm): string {
  return isPrefix ? `"${text}"*` : `"${text}"`
}

import { PYTHON_SPACE, PYTHON_WORD } from '../schema/python-text.ts'

/** A piece of a query, where it begins, and whether a blank or nothing is in front of it. */
export type SearchToken =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly isPrefix: boolean
      readonly at: number
    }
  | {
      readonly kind: 'phrase'
      readonly text: string
      readonly isPrefix: boolean
      readonly at: number
    }
  | { readonly kind: 'operator'; readonly text: 'AND' | 'OR' | 'NOT'; readonly at: number }
  /** A minus that excludes what follows. */
  | { readonly kind: 'minus'; readonly at: number }
  | { readonly kind: 'open' | 'near' | 'close'; readonly at: number }

const PIECE = new RegExp(
  [
    String.raw`"(?<phrase>[^"]*)"(?<star>\*?)`,
    String.raw`(?<near>NEAR\()`,
    String.raw`(?<open>\()`,
    String.raw`(?<close>\))`,
    // Behind a blank or a bracket, and in front of a word, phrase, bracket, #tag, @name, path or emoji.
    String.raw`(?<=^|[${PYTHON_SPACE}(])(?<minus>-)(?=["(${PYTHON_WORD}\p{So}]|[#@./][${PYTHON_WORD}])`,
    // An unpaired quote is a blank; so is a NUL, at which SQLite's pattern matching ends.
    String.raw`(?<text>[^${PYTHON_SPACE}()"*\0]+)(?<more>\**)`,
  ].join('|'),
  'gu',
)

export function tokensOf(query: string): SearchToken[] {
  return Array.from(query.matchAll(PIECE), ({ groups = {}, index: at }): SearchToken => {
    const { phrase, star, near, open, close, minus, text = '', more = '' } = groups
    if (phrase !== undefined) {
      return { kind: 'phrase', text: phrase.replaceAll('\0', ' '), isPrefix: star === '*', at }
    }
    if (near !== undefined) return { kind: 'near', at }
    if (open !== undefined) return { kind: 'open', at }
    if (close !== undefined) return { kind: 'close', at }
    if (minus !== undefined) return { kind: 'minus', at }
    if (more === '' && (text === 'AND' || text === 'OR' || text === 'NOT')) {
      return { kind: 'operator', text, at }
    }
    return { kind: 'text', text, isPrefix: more !== '', at }
  })
}

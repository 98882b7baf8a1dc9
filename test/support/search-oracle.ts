/**
 * What a search must find, by another way than the store's: regular expressions over the whole text of
 * every message.
 */
import type { SearchExpression, SearchTerm } from '../../src/schema/search-expression.ts'

const WORD = String.raw`[\p{L}\p{N}\p{Co}]`
const UNSPACED = ['Han', 'Hira', 'Kana', 'Hang', 'Bopo', 'Thai', 'Laoo', 'Khmr', 'Mymr', 'Tibt']
  .map((script) => String.raw`\p{scx=${script}}`)
  .join('')
const SPACED = String.raw`[[\p{L}\p{N}\p{M}]--[${UNSPACED}]]`
const isSpaced = new RegExp(`^${SPACED}$`, 'v')
const words = new RegExp(`${WORD}+`, 'gv')

export function fold(text: string): string {
  const bare = text.normalize('NFKD').replaceAll(/[\u0300-\u036f\u064b-\u065f\u0670]/g, '')
  return bare.toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** The text as it is stored and, where it has JSON's escapes, without them. */
export function readings(text: string): string[] {
  const plain = text.replaceAll(/\\+u([0-9a-f]{4})|\\+[nrt]/gi, (escape, hex?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    return /[NRT]$/.test(escape) ? escape : ' '
  })
  return [...new Set([text, plain])].map(fold)
}

export function fits(expression: SearchExpression, texts: readonly string[]): boolean {
  switch (expression.kind) {
    case 'term':
      return texts.some((text) => patternOf(expression).test(text))
    case 'and':
      return expression.parts.every((part) => fits(part, texts))
    case 'or':
      return expression.parts.some((part) => fits(part, texts))
    case 'not':
      return (
        fits(expression.wanted, texts) && !expression.unwanted.some((part) => fits(part, texts))
      )
    default:
      // At most that many words between them in any order; here only that all are there.
      return expression.terms.every((term) => fits(term, texts))
  }
}

const patterns = new Map<string, RegExp>()

function patternOf({ text, isPrefix }: SearchTerm): RegExp {
  const key = `${isPrefix}${text}`
  const pattern = patterns.get(key) ?? new RegExp(sourceOf(fold(text).trim(), isPrefix), 'v')
  patterns.set(key, pattern)
  return pattern
}

function sourceOf(folded: string, isPrefix: boolean): string {
  if (folded === '') return '(?!)'
  const characters = Array.from(folded)
  const [first = ''] = characters
  const last = characters.at(-1) ?? ''
  const before = isSpaced.test(first) ? `(?<!${SPACED})` : ''
  const after = isSpaced.test(last) && !isPrefix ? `(?!${SPACED})` : ''
  const literal = before + escaped(folded) + after
  const found = folded.match(words)
  if (!found) return literal
  const inARow = found.map(escaped).join(`(?:(?!${WORD})[^])+`)
  return `${literal}|(?<!${WORD})${inARow}${isPrefix ? '' : `(?!${WORD})`}`
}

function escaped(text: string): string {
  return text.replaceAll(/[\^$\\.*+?()[\]{}|/]/g, String.raw`\$&`)
}

import { PYTHON_SPACE, PYTHON_WORD, pyStrip } from '../schema/python-text.ts'

const CJK =
  /[\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{20000}-\u{2a6df}\u{3000}-\u{30ff}\u{ac00}-\u{d7af}]/gu

const NON_SPACES = new RegExp(`[^${PYTHON_SPACE}]+`, 'g')
const LONE_STAR = new RegExp(`(^|[${PYTHON_SPACE}])\\*`, 'g')
const LEADING_OPERATOR = new RegExp(`^(?:AND|OR|NOT)(?![${PYTHON_WORD}])`, 'iu')
const TRAILING_OPERATOR = new RegExp(`[${PYTHON_SPACE}](?:AND|OR|NOT)$`, 'iu')
const WORD_CHAIN = new RegExp(`[${PYTHON_WORD}]+(?:[.-][${PYTHON_WORD}]+)*`, 'gu')

const OPERATORS = new Set(['AND', 'OR', 'NOT'])

/** The shortest text the trigram index can find. */
const TRIGRAM = 3

/**
 * Turns what a person typed into a query of the full-text index (spec §13.1); empty when nothing is
 * left to look for. Not every result is valid FTS5: see there.
 */
export function sanitizeSearchQuery(query: string): string {
  // 1. Balanced phrases step aside. NUL keeps their places apart from words around them.
  const phrases: string[] = []
  let text = query.replace(/"[^"]*"/g, (phrase) => `\0Q${phrases.push(phrase) - 1}\0`)
  // 2. and 3. No syntax but the prefix star, and that only behind a word.
  text = text.replace(/[+{}()"^]/g, ' ')
  text = text.replace(/\*+/g, '*').replace(LONE_STAR, '$1')
  // 4. One operator without a left side, one without a right side.
  text = pyStrip(pyStrip(text).replace(LEADING_OPERATOR, ''))
  text = text.replace(TRAILING_OPERATOR, '')
  // 5. What the tokenizer would split at a joint has to be a phrase.
  text = text.replace(WORD_CHAIN, (chain) => (isJoined(chain) ? `"${chain}"` : chain))
  // 6. The phrases come back.
  return pyStrip(
    text.replace(/\0Q(0|[1-9][0-9]*)\0/g, (mark, number) => phrases[Number(number)] ?? mark),
  )
}

/** An underscore is a word character, yet joins two others. */
function isJoined(chain: string): boolean {
  return /[.-]|[^]_[^]/u.test(chain)
}

/** Whether the text needs an index without word boundaries; the ranges are the agent's (spec §13.2). */
export function containsCjk(text: string): boolean {
  return text.search(CJK) !== -1
}

export function countCjk(text: string): number {
  let count = 0
  for (const _ of text.matchAll(CJK)) count += 1
  return count
}

export type SearchPlan =
  | { readonly route: 'none' }
  | { readonly route: 'fts'; readonly match: string }
  /** `tokens`: the terms without operators, as typed. */
  | { readonly route: 'trigram'; readonly match: string; readonly tokens: readonly string[] }
  /** The agent looks for any of them. */
  | { readonly route: 'like'; readonly tokens: readonly string[] }

/** Chooses the index for a sanitised query (spec §13.2) and says what to look for there (§13.3). */
export function planSearch(sanitized: string): SearchPlan {
  if (sanitized === '') return { route: 'none' }
  if (!containsCjk(sanitized)) return { route: 'fts', match: sanitized }

  const raw = pyStrip(stripQuotes(sanitized))
  const words = raw.match(NON_SPACES) ?? []
  const tokens = words.filter((word) => !isOperator(word))

  if (countCjk(raw) >= TRIGRAM && tokens.every(fitsTrigrams)) {
    return { route: 'trigram', match: words.map(quoteTerm).join(' '), tokens }
  }
  return { route: 'like', tokens: tokens.length === 0 ? [raw] : tokens }
}

function isOperator(word: string): boolean {
  return OPERATORS.has(word.toUpperCase())
}

function fitsTrigrams(token: string): boolean {
  const count = countCjk(token)
  return count === 0 || count >= TRIGRAM
}

function quoteTerm(word: string): string {
  return isOperator(word) ? word : `"${word.replaceAll('"', '""')}"`
}

function stripQuotes(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text[start] === '"') start += 1
  while (end > start && text[end - 1] === '"') end -= 1
  return text.slice(start, end)
}

import { InvalidQueryError } from '../errors.ts'
import type { SearchExpression, SearchTerm } from '../schema/search-expression.ts'
import { fold, hasUnspaced } from '../schema/search-text.ts'
import { Clauses, joined, keyOfTerm } from './search-clauses.ts'
import type { SearchNote } from './search-notes.ts'
import { tokensOf, type SearchToken } from './search-tokens.ts'

export interface ParsedQuery {
  /** Undefined when there is nothing to look for. */
  readonly expression: SearchExpression | undefined
  readonly notes: readonly SearchNote[]
  /** AND, NOT or a minus was used: the agent passes over them where the query has short CJK terms. */
  readonly hasLogic: boolean
  readonly hasMinus: boolean
  /** It means something else than to the agent, which passes over brackets and NEAR. */
  readonly isRegrouped: boolean
}

type Word = Extract<SearchToken, { kind: 'text' | 'phrase' }>

const MOST_TERMS = 5000
/** SQLite's own limit for a pattern, with room for the wildcards. */
const LONGEST_TERM_BYTES = 49_000
const DEEPEST = 64
/** FTS5's own. */
const NEAR_DISTANCE = 10

/** Punctuation between words says nothing; a sign, as an emoji is one, may be what is looked for. */
const HAS_SUBSTANCE = /[\p{L}\p{N}\p{M}\p{Co}]|[^\p{ASCII}\p{P}\p{Z}\p{C}]/u
const OPERATOR_WORD = /^(?:and|or|not)$/i

/**
 * Reads a query: words, `"phrases"`, `OR`, `AND`, `NOT`, `-word`, `prefix*`, brackets and
 * `NEAR(a b, 5)`. Whatever else is in it is text.
 * @throws {InvalidQueryError} for too many or too long terms, or brackets nested too deep.
 */
export function parseQuery(query: string): ParsedQuery {
  const notes: SearchNote[] = []
  const tokens = withoutLoneBrackets(trimmed(tokensOf(query)), notes)
  if (query.split('"').length % 2 === 0) {
    notes.push(asText('a quote without its pair was passed over', query.lastIndexOf('"')))
  }
  const parser = new Parser(tokens, notes)
  const expression = parser.parse()
  if (!expression) notes.push({ code: 'nothing-to-find', message: 'no word is left to look for' })
  const has = (...kinds: SearchToken['kind'][]): boolean =>
    tokens.some(({ kind }) => kinds.includes(kind))
  const flat = tokens.flatMap(withoutBracket)
  return {
    expression,
    notes,
    hasLogic: parser.hasLogic,
    hasMinus: has('minus'),
    isRegrouped:
      has('open', 'near') &&
      JSON.stringify(expression) !== JSON.stringify(new Parser(flat, []).parse()),
  }
}

/** In front of everything and behind it the agent takes operators in lower case for such, too. */
function trimmed(tokens: SearchToken[]): SearchToken[] {
  const isOperatorWord = (token: SearchToken | undefined): boolean =>
    token?.kind === 'text' && !token.isPrefix && OPERATOR_WORD.test(token.text)
  if (tokens.length > 1 && isOperatorWord(tokens[0])) tokens.shift()
  if (tokens.length > 1 && isOperatorWord(tokens.at(-1))) tokens.pop()
  return tokens
}

function withoutLoneBrackets(tokens: readonly SearchToken[], notes: SearchNote[]): SearchToken[] {
  const open: SearchToken[] = []
  let lone: SearchToken | undefined
  for (const token of tokens) {
    if (token.kind === 'open' || token.kind === 'near') open.push(token)
    else if (token.kind === 'close' && !open.pop()) lone ??= token
  }
  lone ??= open.at(-1)
  if (!lone) return [...tokens]
  notes.push(asText('brackets without their pair were passed over', lone.at))
  return tokens.flatMap(withoutBracket)
}

function withoutBracket(token: SearchToken): SearchToken[] {
  if (token.kind === 'open' || token.kind === 'close') return []
  if (token.kind !== 'near') return [token]
  return [{ kind: 'text', text: 'NEAR', isPrefix: false, at: token.at }]
}

function asText(message: string, position: number): SearchNote {
  return { code: 'read-as-text', message, position }
}

class Parser {
  hasLogic = false
  readonly #tokens: readonly SearchToken[]
  readonly #notes: SearchNote[]
  /** Nothing but punctuation was asked for, so punctuation it is. */
  readonly #keepsSigns: boolean
  #place = 0
  readonly #terms = new Set<string>()

  constructor(tokens: readonly SearchToken[], notes: SearchNote[]) {
    this.#tokens = tokens
    this.#notes = notes
    this.#keepsSigns = !tokens.some((token) => isWord(token) && HAS_SUBSTANCE.test(token.text))
  }

  parse(): SearchExpression | undefined {
    const expression = this.#group(0)
    if (expression) return expression
    // Operators with nothing between them.
    const words = this.#tokens.flatMap((token) => (token.kind === 'operator' ? [token] : []))
    if (words.length < 2) return undefined
    return joined(
      'and',
      words.map(({ text, at }) => this.#term(text, false, at)),
    )
  }

  /** Up to its closing bracket or the end. */
  #group(depth: number): SearchExpression | undefined {
    const clauses = new Clauses()
    const startedAt = this.#tokens[this.#place]?.at ?? 0
    for (; this.#place < this.#tokens.length; this.#place += 1) {
      const token = this.#tokens[this.#place]!
      if (token.kind === 'close') break
      if (token.kind === 'operator') {
        clauses.operator(token.text)
        continue
      }
      if (token.kind === 'minus') this.#place += 1
      const operand = this.#operand(depth)
      if (!operand) continue
      if (token.kind === 'minus') clauses.exclude(operand)
      else clauses.want(operand)
    }
    const expression = clauses.expression()
    if (clauses.hasVainMinus) {
      this.#notes.push(asText('there is nothing to exclude it from, so it is text', startedAt))
    }
    this.hasLogic ||= clauses.hasLogic
    return expression
  }

  #operand(depth: number): SearchExpression | undefined {
    const token = this.#tokens[this.#place]
    if (token === undefined) return undefined
    if (isWord(token)) {
      const isNothing = !this.#keepsSigns && !HAS_SUBSTANCE.test(token.text)
      if (isNothing || fold(token.text).trim() === '') return undefined
      return this.#term(token.text, token.isPrefix, token.at)
    }
    if (token.kind !== 'open' && token.kind !== 'near') return undefined
    if (depth >= DEEPEST) throw new InvalidQueryError('nests its brackets too deep', token.at)
    this.#place += 1
    const start = this.#place
    const inside = this.#group(depth + 1)
    return token.kind === 'near' ? this.#near(start, inside, token.at) : inside
  }

  /** Anything but words and a distance between the brackets makes it text. */
  #near(
    start: number,
    inside: SearchExpression | undefined,
    at: number,
  ): SearchExpression | undefined {
    const tokens = this.#tokens.slice(start, this.#place)
    const words = tokens.filter(isWord)
    const { texts, distance } = nearTexts(words)
    const terms = texts.map((word) => this.#term(word.text, word.isPrefix, word.at))
    const isNear = words.length === tokens.length && terms.length > 1
    if (isNear && !terms.some(({ text }) => hasUnspaced(text))) {
      return { kind: 'near', terms, distance }
    }
    const reason = 'NEAR takes two or more words of a script with blanks; it is text here'
    this.#notes.push(asText(reason, at))
    return joined('and', [this.#term('NEAR', false, at), ...(inside ? [inside] : [])])
  }

  #term(text: string, isPrefix: boolean, at: number): SearchTerm {
    const term: SearchTerm = { kind: 'term', text, isPrefix }
    this.#terms.add(keyOfTerm(term))
    if (this.#terms.size > MOST_TERMS) {
      throw new InvalidQueryError(`has more than ${MOST_TERMS} terms`, at)
    }
    if (Buffer.byteLength(text) > LONGEST_TERM_BYTES) {
      throw new InvalidQueryError(`has a term of more than ${LONGEST_TERM_BYTES} bytes`, at)
    }
    return term
  }
}

function isWord(token: SearchToken): token is Word {
  return token.kind === 'text' || token.kind === 'phrase'
}

/** `a b, 5` as FTS5 writes it, with or without the blank. */
function nearTexts(words: readonly Word[]): { texts: Word[]; distance: number } {
  const tail = /^(?<word>.*?),?(?<number>\d{1,4})$/.exec(words.at(-1)?.text ?? '')?.groups
  const last = words.at(-1)
  const hasComma = last?.text.includes(',') || words.at(-2)?.text.endsWith(',')
  const isDistance = tail !== undefined && hasComma
  const texts =
    isDistance && last ? [...words.slice(0, -1), { ...last, text: tail['word']! }] : words
  return {
    texts: texts
      .map((word) => ({ ...word, text: word.text.replace(/,+$/, '') }))
      .filter(({ text }) => /[\p{L}\p{N}]/u.test(text)),
    distance: isDistance ? Number(tail['number']) : NEAR_DISTANCE,
  }
}

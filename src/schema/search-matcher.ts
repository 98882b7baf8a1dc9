import { wantedTerms, type SearchExpression, type SearchTerm } from './search-expression.ts'
import { findTerm, readTerm, startsOfWords, type ReadTerm } from './search-term.ts'
import { foldWithPlaces, haystackOf, wordsOf } from './search-text.ts'

/** A half-open range of UTF-16 units. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** Decides what a search finds, by reading the text; the indexes only tell where to look. */
export interface SearchMatcher {
  /** Whether a message with this text, tool name and arguments included, is asked for. */
  fits(text: string): boolean
  /** Where the wanted terms stand in the text; in order, none overlapping. */
  ranges(text: string): TextRange[]
}

type Test = (haystack: string) => boolean

export function matcherOf(expression: SearchExpression): SearchMatcher {
  const test = testOf(expression)
  const wanted = wantedTerms(expression).map(readTerm)
  return {
    fits: (text) => test(haystackOf(text)),
    ranges: (text) => rangesOf(wanted, text),
  }
}

function testOf(expression: SearchExpression): Test {
  switch (expression.kind) {
    case 'term': {
      const term = readTerm(expression)
      return (haystack) => findTerm(term, haystack, 0) !== undefined
    }
    case 'and': {
      const tests = expression.parts.map(testOf)
      return (haystack) => tests.every((test) => test(haystack))
    }
    case 'or': {
      const tests = expression.parts.map(testOf)
      return (haystack) => tests.some((test) => test(haystack))
    }
    case 'not': {
      const wanted = testOf(expression.wanted)
      const unwanted = expression.unwanted.map(testOf)
      return (haystack) => wanted(haystack) && !unwanted.some((test) => test(haystack))
    }
    default:
      return nearTest(expression.terms, expression.distance)
  }
}

/** As FTS5 counts: between the end of each phrase and the start of the last. */
function nearTest(terms: readonly SearchTerm[], distance: number): Test {
  const phrases = terms.map(readTerm).filter(({ words }) => words.length > 0)
  return (haystack) => {
    const text = wordsOf(haystack)
    const starts = phrases.map((phrase) => startsOfWords(phrase, text))
    return starts
      .flat()
      .some((last) =>
        phrases.every(({ words }, index) =>
          starts[index]?.some((start) => start <= last && start >= last - words.length - distance),
        ),
      )
  }
}

function rangesOf(terms: readonly ReadTerm[], text: string): TextRange[] {
  const { folded, starts, ends } = foldWithPlaces(text)
  const found: TextRange[] = []
  for (const term of terms) {
    for (let place = findTerm(term, folded, 0); place; place = findTerm(term, folded, place.end)) {
      found.push({ start: starts[place.start] ?? 0, end: ends[place.end - 1] ?? text.length })
    }
  }
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  let end = 0
  return found.filter((range) => {
    if (range.start < end) return false
    end = range.end
    return true
  })
}

import type { SearchTerm } from './search-expression.ts'
import type { TextRange } from './search-matcher.ts'
import { fold, isInner, isWordUnit, wordsOf } from './search-text.ts'

/** A term as it is compared. */
export interface ReadTerm {
  readonly folded: string
  readonly words: readonly string[]
  readonly isPrefix: boolean
}

export function readTerm({ text, isPrefix }: SearchTerm): ReadTerm {
  const folded = fold(text).trim()
  return { folded, words: wordsOf(folded), isPrefix }
}

/**
 * The first place from `from` on where a term stands in a folded text: as it is written, though not
 * inside of a word of a script with blanks, or as words in a row, whatever is between them.
 */
export function findTerm(term: ReadTerm, text: string, from: number): TextRange | undefined {
  const literal = findLiteral(term, text, from)
  if (literal?.start === from) return literal
  const words = findWords(term, text, from)
  if (!literal || !words) return literal ?? words
  return words.start < literal.start ? words : literal
}

/** Where in a list of words the words of a term begin. */
export function startsOfWords({ words, isPrefix }: ReadTerm, text: readonly string[]): number[] {
  const starts: number[] = []
  for (let start = 0; start + words.length <= text.length; start += 1) {
    const isHere = words.every((word, index) => {
      const there = text[start + index] ?? ''
      return isPrefix && index === words.length - 1 ? there.startsWith(word) : there === word
    })
    if (isHere) starts.push(start)
  }
  return starts
}

function findLiteral({ folded, isPrefix }: ReadTerm, text: string, from: number) {
  if (folded === '') return undefined
  for (
    let start = text.indexOf(folded, from);
    start !== -1;
    start = text.indexOf(folded, start + 1)
  ) {
    const end = start + folded.length
    if (!isInsideAt(text, start) && (isPrefix || !isInsideAt(text, end))) return { start, end }
  }
  return undefined
}

/** Whether what stands here and what stands before it belong to one word of a script with blanks. */
function isInsideAt(text: string, place: number): boolean {
  return place > 0 && place < text.length && isInner(text, place - 1) && isInner(text, place)
}

function findWords({ words, isPrefix }: ReadTerm, text: string, from: number) {
  const [first] = words
  if (first === undefined) return undefined
  for (
    let start = text.indexOf(first, from);
    start !== -1;
    start = text.indexOf(first, start + 1)
  ) {
    if (start > 0 && isWordUnit(text, start - 1)) continue
    const end = endOfWords(words, isPrefix, text, start)
    if (end !== undefined) return { start, end }
  }
  return undefined
}

function endOfWords(
  words: readonly string[],
  isPrefix: boolean,
  text: string,
  start: number,
): number | undefined {
  let place = start
  for (const [index, word] of words.entries()) {
    if (index > 0) while (place < text.length && !isWordUnit(text, place)) place += 1
    if (!text.startsWith(word, place)) return undefined
    place += word.length
    const goesOn = place < text.length && isWordUnit(text, place)
    if (!goesOn) continue
    if (!isPrefix || index < words.length - 1) return undefined
    while (place < text.length && isWordUnit(text, place)) place += 1
  }
  return place
}

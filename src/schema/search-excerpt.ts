import type { SearchMatcher, TextRange } from './search-matcher.ts'
import { unescaped } from './search-text.ts'

/** Around what was found, while an excerpt travels: characters that no text uses. */
export const HIT_START = '\ufdd0'
export const HIT_END = '\ufdd1'

const BEFORE = 40
const LENGTH = 200
/** A tool's output can be megabytes: it is read in pieces until one has a hit. */
const PIECE = 4096
const OVERLAP = 256

/** Some 200 characters around the first place of what was looked for, with marks around each. */
export function excerptOf(matcher: SearchMatcher, text: string): string {
  const place = firstPlace(matcher, text)
  if (place) return cut(matcher, text, place.start)
  const plain = unescaped(text)
  const inside = plain === undefined ? undefined : firstPlace(matcher, plain)
  return plain === undefined || !inside ? cut(matcher, text, 0) : cut(matcher, plain, inside.start)
}

function firstPlace(matcher: SearchMatcher, text: string): TextRange | undefined {
  for (let from = 0; from < text.length; from += PIECE) {
    const [first] = matcher.ranges(text.slice(from, from + PIECE + OVERLAP))
    if (first) return { start: first.start + from, end: first.end + from }
  }
  return undefined
}

function cut(matcher: SearchMatcher, text: string, at: number): string {
  const from = Math.max(0, at - BEFORE)
  const to = Math.min(text.length, from + LENGTH)
  // Half a surrogate pair becomes a replacement character.
  const part = text.slice(from, to).toWellFormed()
  let marked = ''
  let end = 0
  for (const range of matcher.ranges(part)) {
    marked +=
      part.slice(end, range.start) + HIT_START + part.slice(range.start, range.end) + HIT_END
    end = range.end
  }
  return `${from > 0 ? '...' : ''}${marked}${part.slice(end)}${to < text.length ? '...' : ''}`
}

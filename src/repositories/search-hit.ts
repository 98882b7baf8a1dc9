import { HIT_END, HIT_START } from '../schema/search-excerpt.ts'
import type { SearchMatcher, TextRange } from '../schema/search-matcher.ts'
import type { ContextMessage } from './search-context.ts'
import type { FoundRow } from './search-statements.ts'

/** A message that was found. */
export interface SearchHit extends Omit<FoundRow, 'rank' | 'otherExcerpt'> {
  /** `excerpt` with `>>>` and `<<<` around what an index hit; null when the message has no text. */
  readonly snippet: string | null
  /**
   * A part of the text around what was found; also of a tool's name and arguments, where the agent's
   * snippet shows nothing of it.
   */
  readonly excerpt: string
  /** Where in `excerpt` the wanted terms stand. */
  readonly highlights: readonly TextRange[]
  /**
   * How well it fits, higher is better; null where nothing ranks, which is so for short CJK terms, and
   * but for `find`.
   */
  readonly score: number | null
  /** The message before, the hit and the message after, as far as they exist. */
  readonly context: readonly ContextMessage[]
}

export function toHit(
  { rank, snippet, otherExcerpt, ...row }: FoundRow,
  matcher: SearchMatcher | undefined,
  context: readonly ContextMessage[],
): SearchHit {
  const { excerpt, highlights } = readMarks(otherExcerpt ?? snippet ?? '')
  return {
    ...row,
    snippet: snippet && snippet.replaceAll(HIT_START, '>>>').replaceAll(HIT_END, '<<<'),
    excerpt,
    // The agent's excerpts of what it finds by LIKE have no marks.
    highlights: highlights.length === 0 && matcher ? matcher.ranges(excerpt) : highlights,
    score: rank === null ? null : -rank,
    context,
  }
}

/** Takes the marks out of a text and says where they were. */
export function readMarks(marked: string): { excerpt: string; highlights: TextRange[] } {
  let excerpt = ''
  const highlights: TextRange[] = []
  for (const [index, part] of marked.split(HIT_START).entries()) {
    const [hit = '', ...rest] = index === 0 ? ['', part] : part.split(HIT_END)
    if (index > 0) highlights.push({ start: excerpt.length, end: excerpt.length + hit.length })
    excerpt += hit + rest.join('')
  }
  return { excerpt, highlights }
}

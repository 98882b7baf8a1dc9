import { scrubMemoryContext } from '../repositories/memory-context.ts'
import { pyStrip } from '../schema/python-text.ts'

/** A user's or an assistant's text as `messages.conversation` gives it to a model (spec §12). */
export function shownText(text: string): string {
  return pyStrip(scrubMemoryContext(text))
}

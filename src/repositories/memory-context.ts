import { PYTHON_SPACE } from '../schema/python-text.ts'

const S = `[${PYTHON_SPACE}]*`

const OPENING_OR_CLOSING = new RegExp(`<(?:${S}|(/)${S})memory-context${S}>`, 'giu')

const NOTE_START = new RegExp(
  String.raw`\[System note:${S}The following is recalled memory context,${S}NOT new user input\.${S}` +
    String.raw`Treat as (?:(informational background data\.\])|authoritative reference data)`,
  'giu',
)

const SPACES = new RegExp(S, 'y')

/**
 * Takes recalled memory, and the note that introduces it, out of a stored message (spec §12), in time
 * proportional to the text: a search for the shortest block per opening tag would be quadratic.
 */
export function scrubMemoryContext(text: string): string {
  // Hardly any message has one, and a replay asks for each.
  if (!text.includes('<') && !text.includes('[')) return text
  return removeNotes(removeBlocks(text)).replace(OPENING_OR_CLOSING, '')
}

/** A block reaches from the first opening tag to the first closing one, whatever opens in between. */
function removeBlocks(text: string): string {
  let kept = ''
  let keptTo = 0
  let blockStart: number | undefined
  for (const tag of text.matchAll(OPENING_OR_CLOSING)) {
    const closing = tag[1] !== undefined
    if (!closing) {
      blockStart ??= tag.index
    } else if (blockStart !== undefined) {
      kept += text.slice(keptTo, blockStart)
      keptTo = tag.index + tag[0].length
      blockStart = undefined
    }
  }
  return kept + text.slice(keptTo)
}

function removeNotes(text: string): string {
  let kept = ''
  let keptTo = 0
  let bracket = 0
  for (const start of text.matchAll(NOTE_START)) {
    if (start.index < keptTo) continue
    let end = start.index + start[0].length
    if (start[1] === undefined) {
      // The free wording runs to the next bracket. Looked up once, however many notes lack one.
      if (bracket !== -1 && bracket < end) bracket = text.indexOf(']', end)
      if (bracket === -1 || text[bracket - 1] !== '.') continue
      end = bracket + 1
    }
    SPACES.lastIndex = end
    SPACES.test(text)
    kept += text.slice(keptTo, start.index)
    keptTo = SPACES.lastIndex
  }
  return kept + text.slice(keptTo)
}

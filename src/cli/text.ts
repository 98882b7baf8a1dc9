import stringWidth from 'string-width'

/**
 * What a terminal would obey instead of show: control characters of both ranges, line separators,
 * and the marks that reorder the text around them.
 */
const OBEYED = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const OBEYED_IN_PARAGRAPHS = new RegExp(
  OBEYED.source.replace(String.raw`\0-\x1f`, String.raw`\0-\x08\x0b-\x1f`),
  'g',
)

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Stored text for one line of a terminal: white space folded, nothing left that it would obey. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\t\r\n]+/g, ' ').replaceAll(OBEYED, pictureOf)
}

/** Stored text with its line breaks and tabs kept, and nothing else left that a terminal would obey. */
export function paragraphs(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(OBEYED_IN_PARAGRAPHS, pictureOf)
}

/** JSON that is as harmless to a terminal, and equal when parsed. Bytes become `{ base64 }`. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, bytesAsBase64, indent).replaceAll(
    OBEYED_IN_PARAGRAPHS,
    (character) => `\\u${hex(character).padStart(4, '0')}`,
  )
}

/** The beginning of the text that fits into `width` columns, East Asian wide characters taking two. */
export function fit(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let taken = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment)
    if (used > width - 1) break
    taken += segment
  }
  return `${taken}…`
}

/** Local time to the minute; `-` where no time is stored. */
export function localTime(seconds: number | null | undefined): string {
  const date = new Date((seconds ?? Number.NaN) * 1000)
  if (Number.isNaN(date.getTime())) return '-'
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

export function byteSize(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** `1 session`, `2 sessions`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** U+2400 and its neighbours picture the old control characters; the newer ones have only a number. */
function pictureOf(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : `\\u{${hex(character)}}`
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16)
}

function bytesAsBase64(this: unknown, _key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}

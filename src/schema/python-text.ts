/** Inside of a character class: what Python's `\s`, `strip` and `split` take as whitespace (U+FEFF is none). */
export const PYTHON_SPACE =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

/** Inside of a character class of a `u` regex: Python's `\w`. Combining marks are not in it (spec §19). */
export const PYTHON_WORD = '\\p{L}\\p{N}_'

const SPACE = new RegExp(`[${PYTHON_SPACE}]`)

/** `str.strip()`. A regex anchored at the end would be quadratic on long inner blanks. */
export function pyStrip(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text, start)) start += 1
  while (end > start && isSpace(text, end - 1)) end -= 1
  return end - start === text.length ? text : text.slice(start, end)
}

/** Every replayed message is asked twice: most end in a letter or a full stop, which no regex need see. */
function isSpace(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return (unit <= 0x20 || unit >= 0x7f) && SPACE.test(text.charAt(index))
}

/** `len(text)` of Python: a surrogate pair is one, a lone surrogate is one. */
export function codePointLength(text: string): number {
  let length = 0
  for (let index = 0; index < text.length; index += unitsAt(text, index)) length += 1
  return length
}

/** `text[:count]` of Python. */
export function sliceCodePoints(text: string, count: number): string {
  let end = 0
  for (let taken = 0; taken < count && end < text.length; taken += 1) end += unitsAt(text, end)
  return text.slice(0, end)
}

/** Each lone surrogate becomes U+FFFD: UTF-8 has no form for them, and SQLite stores UTF-8. */
export function replaceLoneSurrogates(text: string): string {
  return text.toWellFormed()
}

function unitsAt(text: string, index: number): number {
  return (text.codePointAt(index) ?? 0) > 0xff_ff ? 2 : 1
}

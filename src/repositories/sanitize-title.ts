import { InvalidInputError } from '../errors.ts'
import {
  codePointLength,
  PYTHON_SPACE,
  pyStrip,
  replaceLoneSurrogates,
} from '../schema/python-text.ts'

const MAX_CODE_POINTS = 100

/** Control characters but tab, LF, CR; then zero-width, direction, line separator and annotation marks. */
const INVISIBLE =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]/g

const SPACES = new RegExp(`[${PYTHON_SPACE}]+`, 'g')

/**
 * The form in which a title is stored and compared, null when nothing visible is left (spec §8).
 * @throws {InvalidInputError} when it is no string, or longer than 100 code points.
 */
export function sanitizeTitle(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  if (typeof text !== 'string') throw new InvalidInputError('title', 'must be a string or null')

  // Before anything is removed: two lone halves must not meet and become a character.
  const visible = replaceLoneSurrogates(text).replace(INVISIBLE, '')
  const title = pyStrip(visible.replace(SPACES, ' '))

  if (title === '') return null
  const length = codePointLength(title)
  if (length > MAX_CODE_POINTS) {
    throw new InvalidInputError(
      'title',
      `was refused: Title too long (${length} chars, max ${MAX_CODE_POINTS})`,
    )
  }
  return title
}

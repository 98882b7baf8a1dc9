import { InvalidInputError } from '../errors.ts'
import { type JsonValue, parsePythonJson, toPythonJson } from './python-json.ts'
import { replaceLoneSurrogates } from './python-text.ts'

/** What a message can carry: text, structured parts, nothing, or bytes. */
export type MessageContent = JsonValue | Uint8Array

/** Opens the text form of a list or an object in the `content` column. */
const STRUCTURED = '\0json:'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/**
 * What the `content` column holds for a value (spec §6). Numbers and booleans become the text that
 * the column's affinity makes of them in the agent's SQLite; text and bytes pass unchanged.
 * @throws {InvalidInputError} for what neither the column nor JSON can take.
 */
export function encodeContent(value: unknown): string | Uint8Array | null {
  switch (typeof value) {
    case 'undefined':
      return null
    case 'string':
      return replaceLoneSurrogates(value)
    case 'boolean':
      return value ? '1' : '0'
    case 'number':
      return Number.isSafeInteger(value) ? value.toFixed(0) : realText(value)
    case 'bigint':
      if (value < INT64_MIN || value > INT64_MAX)
        throw new InvalidInputError('content', 'is an integer of more than 64 bits')
      return value.toString()
    default:
      if (value === null || value instanceof Uint8Array) return value
      return STRUCTURED + toPythonJson(value, { field: 'content' })
  }
}

/** Reads what `encodeContent` or the agent stored. Marked text that is no JSON is given back as it is. */
export function decodeContent(stored: string | Uint8Array | null): MessageContent {
  if (stored === null) return null
  // The driver hands out Buffers; as plain bytes they equal what was put in.
  if (typeof stored !== 'string')
    return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength)
  // Nearly every text is told by its first character.
  if (stored.charCodeAt(0) !== 0 || !stored.startsWith(STRUCTURED)) return stored
  try {
    return parsePythonJson(stored.slice(STRUCTURED.length))
  } catch (error) {
    if (error instanceof SyntaxError) return stored
    throw error
  }
}

/**
 * SQLite 3.40's text for a REAL: 15 significant digits and always a decimal point. Our own SQLite
 * would write 17. NaN is stored as NULL, infinities as Inf and -Inf, as by Python's driver.
 */
function realText(value: number): string | null {
  if (Number.isNaN(value)) return null
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf'
  const [mantissa = '', exponent = ''] = value.toExponential(14).split('e')
  const power = Number(exponent)
  if (power >= -4 && power <= 14) return trimZeros(value.toPrecision(15))
  return `${trimZeros(mantissa)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

function trimZeros(digits: string): string {
  const trimmed = digits.includes('.') ? digits.replace(/0+$/, '') : `${digits}.`
  return trimmed.endsWith('.') ? `${trimmed}0` : trimmed
}

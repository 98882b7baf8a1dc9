import { randomUUID } from 'node:crypto'
import { InvalidInputError } from '../errors.ts'

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue }

export interface JsonTextOptions {
  /** Escape all but ASCII, as Python's default does. Left out, text stays searchable in its own script. */
  readonly ascii?: boolean
  /** What an error calls the value. */
  readonly field?: string
}

/** Python's parser recurses and gives up a little below 1,000 levels; its own frames need some of them. */
const MAX_DEPTH = 500

/** What Python finds falsy, written as JSON. */
const FALSY = new Set(['null', 'false', '0', '-0.0', '""', '[]', '{}'])

/**
 * Text for a JSON column, or null for what Python finds falsy (spec §6). A string is encoded once more.
 * @throws {InvalidInputError} when JSON cannot take the value; `field` is the name it gives.
 */
export function encodeJsonColumn(value: unknown, field = 'value'): string | null {
  if (value === undefined) return null
  const text = toPythonJson(value, { field })
  return FALSY.has(text) ? null : text
}

/**
 * `json.dumps(value)`, byte for byte with `ascii: true`, except that JavaScript cannot tell 1.0 from 1.
 * @throws {InvalidInputError} for functions, symbols, bigints, cycles, Map, Set and other values JSON would lose.
 */
export function toPythonJson(value: unknown, options: JsonTextOptions = {}): string {
  const quote = options.ascii === true ? quoteAscii : quoteRaw
  const text = write(value, options.field ?? 'value', quote, new Set())
  if (text === undefined) throw new InvalidInputError(options.field ?? 'value', 'is undefined')
  return text
}

type Quote = (text: string) => string

/** Returns undefined for undefined, which an object leaves out and an array turns into null. */
function write(
  value: unknown,
  path: string,
  quote: Quote,
  parents: Set<object>,
): string | undefined {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      return numberText(value)
    case 'boolean':
      return String(value)
    case 'undefined':
      return undefined
    case 'object':
      return value === null ? 'null' : writeObject(value, path, quote, parents)
    default:
      throw new InvalidInputError(path, `holds a ${typeof value}, which JSON cannot take`)
  }
}

function writeObject(
  value: object,
  path: string,
  quote: Quote,
  parents: Set<object>,
): string | undefined {
  if (parents.has(value)) throw new InvalidInputError(path, 'contains itself')
  if (parents.size === MAX_DEPTH)
    throw new InvalidInputError(path, `is nested more than ${MAX_DEPTH} levels deep`)

  parents.add(value)
  const text = writeMembers(value, path, quote, parents)
  parents.delete(value)
  return text
}

function writeMembers(
  value: object,
  path: string,
  quote: Quote,
  parents: Set<object>,
): string | undefined {
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    return write(value.toJSON(), path, quote, parents)
  }
  if (Array.isArray(value)) {
    const items = Array.from(
      value,
      (item: unknown, index) => write(item, `${path}[${index}]`, quote, parents) ?? 'null',
    )
    return `[${items.join(', ')}]`
  }
  // Map, Set, Error, typed arrays, Promise: JSON.stringify would make {} of them without a word.
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  if (tag !== 'Object') throw new InvalidInputError(path, `holds a ${tag}, which JSON cannot take`)

  const members: string[] = []
  for (const [key, member] of Object.entries(value)) {
    const text = write(member, `${path}.${key}`, quote, parents)
    if (text !== undefined) members.push(`${quote(key)}: ${text}`)
  }
  return `{${members.join(', ')}}`
}

function quoteRaw(text: string): string {
  return JSON.stringify(text.toWellFormed())
}

function quoteAscii(text: string): string {
  return JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Python prints an exponent from 1e16 up and below 1e-4, with at least two digits. */
function numberText(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Object.is(value, -0)) return '-0.0'
  const size = Math.abs(value)
  if (value === 0 || (size >= 1e-4 && size < 1e16)) return String(value)
  return value.toExponential().replace(/(?<=e[+-])\d$/, '0$&')
}

/**
 * `json.loads(text)`: JSON, and the literals NaN, Infinity and -Infinity that Python writes.
 * @throws {SyntaxError}
 */
export function parsePythonJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error
  }
  try {
    return parseWithLiterals(text)
  } catch (error) {
    // Only what no JSON writer makes gets here: 100,000 levels, or megabytes of escapes.
    if (error instanceof RangeError)
      throw new SyntaxError('JSON beyond what the parser takes', { cause: error })
    throw error
  }
}

function parseWithLiterals(text: string): JsonValue {
  // A stand-in that no text can hold by accident or intent, wrapped so that it cannot pass for a key.
  const mark = randomUUID()
  // The closing quote is optional: an open string then takes the rest at once, not once per quote in it.
  const plain = text.replace(/"[^"\\]*(?:\\[^][^"\\]*)*"?|NaN|-?Infinity/g, (token) => {
    if (token.startsWith('"')) return token
    if (token === 'NaN') return ` ["${mark}"] `
    return token === 'Infinity' ? ' 1e999 ' : ' -1e999 '
  })
  return JSON.parse(plain, (_key, value: JsonValue) =>
    Array.isArray(value) && value[0] === mark ? NaN : value,
  ) as JsonValue
}

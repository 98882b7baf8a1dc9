import { createHash } from 'node:crypto'

import { InvalidInputError } from '../errors.ts'
import { parsePythonJson, toPythonJson } from '../schema/python-json.ts'

/** One item of OpenAI Agents' history, of whatever kind: this package knows some and keeps all. */
export type AgentItem = Readonly<Record<string, unknown>>

// Bytes, which the protocol allows in images and files, are kept as an object with this one key; an
// object that has such a key itself gets a further `$` in front of it.
const BYTES = '$bytes'
const ESCAPABLE = /^\$+bytes$/

/** JSON for it, from which `decodeItem` makes the same again. @throws {InvalidInputError} */
export function encodeItem(item: unknown, field: string): string {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    throw new InvalidInputError(field, 'must be an object')
  }
  // ASCII: a lone surrogate is kept as its escape, for which UTF-8 has no other form.
  return toPythonJson(pack(item, new Set()), { ascii: true, field })
}

export function decodeItem(text: string): AgentItem {
  return unpack(parsePythonJson(text)) as AgentItem
}

/** The same for items that differ in the order of their members only. */
export function digestOf(...texts: readonly string[]): string {
  const canonical = texts.map((text) => JSON.stringify(parsePythonJson(text), sortMembers))
  return createHash('sha256').update(JSON.stringify(canonical)).digest('hex')
}

function pack(value: unknown, parents: ReadonlySet<object>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') }
  // A cycle is left as it is, for the encoder to name.
  if (parents.has(value)) return value
  const within = new Set(parents).add(value)
  if (Array.isArray(value)) return value.map((member) => pack(member, within))
  if (!isPlain(value)) return value
  return mapMembers(value, (key, member) => [
    ESCAPABLE.test(key) ? `$${key}` : key,
    pack(member, within),
  ])
}

function unpack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(unpack)
  const bytes = Object.hasOwn(value, BYTES) && (value as AgentItem)[BYTES]
  if (typeof bytes === 'string') return new Uint8Array(Buffer.from(bytes, 'base64'))
  return mapMembers(value, (key, member) => [
    ESCAPABLE.test(key) ? key.slice(1) : key,
    unpack(member),
  ])
}

function mapMembers(
  value: object,
  change: (key: string, member: unknown) => [string, unknown],
): object {
  return Object.fromEntries(Object.entries(value).map(([key, member]) => change(key, member)))
}

function sortMembers(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

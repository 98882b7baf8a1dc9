import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { sanitizeTitle } from '../../src/repositories/sanitize-title.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'

interface TitleCase {
  in: string | null
  result?: string | null
  error?: { message: string }
}

test('sanitises as recorded', () => {
  assertGolden(
    readGolden('sanitize_title') as TitleCase[],
    (recorded) => JSON.stringify(recorded.in),
    ({ in: title, result, error }) => {
      if (error === undefined) assert.equal(sanitizeTitle(title), result)
      else assert.throws(() => sanitizeTitle(title), refusal(error.message))
    },
  )
})

test('is idempotent and fails for no other reason than length', () => {
  const unit = fc.oneof(
    fc.nat(0xff_ff),
    fc.constantFrom(0x20, 0x85, 0x200b, 0x3000, 0xd8_3d, 0xde_80),
  )
  const title = fc.array(unit, { maxLength: 300 }).map((units) => String.fromCharCode(...units))
  fc.assert(
    fc.property(title, (text) => {
      try {
        const once = sanitizeTitle(text)
        assert.equal(sanitizeTitle(once), once)
        assert.ok(once === null || Array.from(once).length <= 100)
      } catch (error) {
        if (!(error instanceof InvalidInputError)) throw error
        assert.match(error.message, /Title too long \(\d+ chars, max 100\)/)
      }
    }),
  )
})

test('two lone halves do not become a character when what parts them is removed', () => {
  assert.equal(sanitizeTitle('\ud83d\u200b\ude80'), '\ufffd\ufffd')
})

test('refuses what is no string', () => {
  for (const value of [5, {}, ['a'], true]) {
    assert.throws(() => sanitizeTitle(value as unknown as string), refusal('must be a string'))
  }
  assert.equal(sanitizeTitle(undefined), null)
})

test('a megabyte of blanks is no title, and one of letters is too long', () => {
  const size = 2 ** 20

  assert.equal(sanitizeTitle(' \u3000'.repeat(size)), null)
  assert.throws(() => sanitizeTitle('a'.repeat(size)), refusal(`Title too long (${size} chars`))
})

function refusal(text: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof InvalidInputError && error.field === 'title' && error.message.includes(text)
}

import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { encodeJsonColumn, parsePythonJson, toPythonJson } from '../../src/schema/python-json.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'

const text = fc.string({ unit: 'binary' })
const number = fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.maxSafeInteger())
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false, NaN, Infinity, -Infinity),
    text,
    number,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
})).value

test('reads back what it wrote, in both forms', () => {
  fc.assert(
    fc.property(json, fc.boolean(), (value, ascii) => {
      // A dictionary of fast-check may lack a prototype; what is read has one.
      assert.deepEqual(parsePythonJson(toPythonJson(value, { ascii })), copy(value))
    }),
  )
})

test(
  'Python reads the same value and prints the same text, floats without a fraction apart',
  { skip: skipWithoutPython() },
  async () => {
    const values = fc.sample(json, 400)
    const deep = JSON.parse('['.repeat(500) + ']'.repeat(500)) as unknown
    const written = [...values, deep, [1e16, 1e-7, 123456.789, 5e-324, 1e21, 1e-5, 0.0001]].map(
      (value) => [toPythonJson(value), toPythonJson(value, { ascii: true })],
    )

    const output = await runPython(
      `
import json, sys
out = []
for raw, ascii in json.load(sys.stdin):
    a, b = json.loads(raw), json.loads(ascii)
    out.append([repr(a) == repr(b), json.dumps(a, ensure_ascii=False), json.dumps(b)])
json.dump(out, sys.stdout)
`,
      [],
      { input: JSON.stringify(written), env: { PYTHONUTF8: '1' } },
    )

    const expected = written.map(([raw, ascii]) => [true, raw, ascii])
    assert.deepEqual(JSON.parse(output), expected)
  },
)

test('writes separators, escapes and numbers as Python does', () => {
  assert.equal(
    toPythonJson({ b: [1, -2.5, null, true], a: {} }),
    '{"b": [1, -2.5, null, true], "a": {}}',
  )
  assert.equal(toPythonJson('é🚀\x7f\u2028\0"\\/\n'), '"é🚀\x7f\u2028\\u0000\\"\\\\/\\n"')
  assert.equal(
    toPythonJson('é🚀\x7f\u2028', { ascii: true }),
    '"\\u00e9\\ud83d\\ude80\\u007f\\u2028"',
  )
  assert.equal(
    toPythonJson([1e15, 1e16, 2 ** 70, 1e-4, 1.5e-5, 1e-7, 1e100, -0, NaN, -Infinity]),
    '[1000000000000000, 1e+16, 1.1805916207174113e+21, 0.0001, 1.5e-05, 1e-07, 1e+100, -0.0, NaN, -Infinity]',
  )
})

test('replaces lone surrogates in raw text, keys too, and escapes them in ASCII', () => {
  assert.equal(toPythonJson({ '\ud800': '\ude80' }), '{"\ufffd": "\ufffd"}')
  assert.equal(toPythonJson({ '\ud800': '\ude80' }, { ascii: true }), '{"\\ud800": "\\ude80"}')
})

test('leaves undefined members out, makes undefined items null and asks toJSON', () => {
  const at = new Date(0)

  assert.equal(toPythonJson({ a: undefined, b: [undefined] }), '{"b": [null]}')
  assert.equal(toPythonJson({ at }), '{"at": "1970-01-01T00:00:00.000Z"}')
})

test('names the place of a value that JSON would lose', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = [circle]
  const refused: [unknown, RegExp][] = [
    [{ a: [() => 1] }, /^tool_calls\.a\[0\] holds a function/],
    [[1n], /^tool_calls\[0\] holds a bigint/],
    [Symbol('s'), /^tool_calls holds a symbol/],
    [{ m: new Map([[1, 2]]) }, /^tool_calls\.m holds a Map/],
    [new Set([1]), /holds a Set/],
    [new Uint8Array(2), /holds a Uint8Array/],
    [new Error('x'), /holds a Error/],
    [circle, /^tool_calls\.self\[0\] contains itself/],
    [JSON.parse('['.repeat(501) + ']'.repeat(501)), /nested more than 500 levels/],
  ]
  for (const [value, message] of refused) {
    assert.throws(
      () => toPythonJson(value, { field: 'tool_calls' }),
      (error) => error instanceof InvalidInputError && message.test(error.message),
    )
  }
})

test('the same object may occur twice', () => {
  const part = { a: 1 }

  assert.equal(toPythonJson([part, part]), '[{"a": 1}, {"a": 1}]')
})

test('a column is null for what Python finds falsy and double-encodes a string', () => {
  for (const value of [undefined, null, [], {}, '', 0, -0, false, { a: undefined }])
    assert.equal(encodeJsonColumn(value), null)
  assert.equal(encodeJsonColumn([0]), '[0]')
  assert.equal(encodeJsonColumn(NaN), 'NaN')
  assert.equal(encodeJsonColumn('[1]'), '"[1]"')
  assert.equal(encodeJsonColumn({ query: '漓江' }), '{"query": "漓江"}')
})

test('reads NaN and the infinities outside of strings only', () => {
  assert.deepEqual(parsePythonJson('[NaN, -Infinity, {"NaN": "\\"NaN Infinity", "x":Infinity}]'), [
    NaN,
    -Infinity,
    { NaN: '"NaN Infinity', x: Infinity },
  ])
  const broken = [
    '',
    '[1',
    '{NaN: 1}',
    '{Infinity: 1}',
    '1Infinity',
    'Infinity1',
    '-NaN',
    '--Infinity',
  ]
  for (const input of [...broken, 'NaNNaN', '[1 NaN]', 'nan', '"NaN', '\ufeffNaN', '+Infinity'])
    assert.throws(() => parsePythonJson(input), SyntaxError)
})

test('refuses hostile text as a syntax error, and soon', () => {
  const size = 2 ** 20
  const hostile = [
    `"${'\\"'.repeat(size)}NaN`,
    `NaN"${'\\n'.repeat(16 * size)}`,
    `${'['.repeat(size)}NaN${']'.repeat(size)}`,
    `NaN${'.'.repeat(size)}`,
  ]
  for (const input of hostile) assert.throws(() => parsePythonJson(input), SyntaxError)
})

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy)
  if (typeof value !== 'object' || value === null) return value
  const result: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    Object.defineProperty(result, key, {
      value: copy(member),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return result
}

import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { decodeContent, encodeContent } from '../../src/schema/content-codec.ts'
import type { MessageContent } from '../../src/schema/content-codec.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'

const golden = readGolden('content_codec') as {
  encode: { in: MessageContent; stored: MessageContent; decoded: MessageContent }[]
  decode: { in: string; out: MessageContent }[]
}

const affinity = 'recorded before the column made text of it; we bind the text it becomes'
const searchable = 'we write text in its own script, so that it can be found'

test('encodes as recorded', () => {
  assertGolden(
    golden.encode,
    (recorded) => JSON.stringify(recorded.in),
    (recorded) => {
      const stored = encodeContent(recorded.in)
      assert.deepEqual(stored, recorded.stored)
      assert.deepEqual(decodeContent(stored), recorded.decoded)
    },
    {
      '1': affinity,
      '1.5': affinity,
      true: affinity,
      '{"a":"é"}': searchable,
      '["大","🚀"]': searchable,
      '["<>&\'\\"\\\\/\u2028\\u0000\\u001f\x7f"]': searchable,
      '[1,10000000000000000,1e+21,1e-7,0.1]': 'JavaScript cannot tell 1.0 from 1',
    },
  )
})

test('decodes as recorded, also what we encode differently', () => {
  assertGolden(
    golden.decode,
    (recorded) => JSON.stringify(recorded.in),
    (recorded) => assert.deepEqual(decodeContent(recorded.in), recorded.out),
  )
  for (const { stored, decoded } of golden.encode) {
    if (typeof stored === 'string') assert.deepEqual(decodeContent(stored), decoded)
  }
})

test('text and structures come back as they were, text with the mark of a structure apart', () => {
  const value = fc.oneof(
    fc.string({ unit: 'binary' }).filter((text) => !text.startsWith('\0json:')),
    fc.uint8Array(),
    fc.constant(null),
    fc.array(fc.jsonValue()),
    fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
  )
  fc.assert(
    fc.property(value, (content) => {
      const decoded = decodeContent(encodeContent(content))
      // -0 and 0 are one number to JSON's users.
      assert.deepEqual(
        decoded instanceof Uint8Array ? decoded : JSON.stringify(decoded),
        content instanceof Uint8Array ? content : JSON.stringify(content),
      )
    }),
  )
})

test('numbers and booleans become the text that the agent would have stored', () => {
  const cases: [unknown, string | null][] = [
    [42, '42'],
    [-7, '-7'],
    [-0, '0'],
    [1.5, '1.5'],
    [true, '1'],
    [false, '0'],
    [2 ** 53 - 1, '9007199254740991'],
    [1e16, '1.0e+16'],
    [1e-7, '1.0e-07'],
    [999999999999999.9, '1.0e+15'],
    [99999999999999.5, '99999999999999.5'],
    [0.1 + 0.2, '0.3'],
    [Infinity, 'Inf'],
    [-Infinity, '-Inf'],
    [NaN, null],
    [10n ** 16n, '10000000000000000'],
    [-(2n ** 63n), '-9223372036854775808'],
    [undefined, null],
  ]
  for (const [value, stored] of cases) assert.equal(encodeContent(value), stored)
})

test(
  'SQLite under Python makes the same text of a number',
  { skip: skipWithoutPython() },
  async (t) => {
    // Twelve digits, so that the last of the fifteen never depends on how SQLite rounds.
    const doubles = fc.double({ min: -1e300, max: 1e300, noNaN: true })
    const numbers = [
      ...fc.sample(doubles, 300).map((x) => Number(x.toPrecision(12))),
      0.1,
      1e15 + 0.5,
    ].filter((x) => !Number.isSafeInteger(x) && Math.abs(x) > 1e-300)

    const output = await runPython(
      `
import json, sqlite3, sys
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE t (c TEXT)")
out = []
for x in json.load(sys.stdin):
    db.execute("DELETE FROM t")
    db.execute("INSERT INTO t VALUES (?)", (float(x),))
    out.append(db.execute("SELECT c FROM t").fetchone()[0])
json.dump({"minor": sqlite3.sqlite_version_info[1], "stored": out}, sys.stdout)
`,
      [],
      { input: JSON.stringify(numbers) },
    )

    const { minor, stored } = JSON.parse(output) as { minor: number; stored: string[] }
    if (minor > 42)
      t.skip('NOT TESTED: needs a python3 with SQLite 3.42 or older, newer ones write more digits')
    else assert.deepEqual(numbers.map(encodeContent), stored)
  },
)

test('bytes pass unchanged and a Buffer of the driver reads as plain bytes', () => {
  const bytes = new Uint8Array([0, 255])

  assert.equal(encodeContent(bytes), bytes)
  assert.deepEqual(decodeContent(Buffer.from(bytes)), bytes)
})

test('lone surrogates are replaced, inside of structures too', () => {
  assert.equal(encodeContent('a\ud83d'), 'a\ufffd')
  assert.equal(encodeContent(['a\ud83d']), '\0json:["a\ufffd"]')
})

test('refuses by name what the column cannot take', () => {
  for (const value of [2n ** 63n, -(2n ** 63n) - 1n, () => 1, Symbol('s'), new Set([1]), [1n]]) {
    assert.throws(
      () => encodeContent(value),
      (error) => error instanceof InvalidInputError && error.message.startsWith('content'),
    )
  }
})

test('gives marked text back when it is too hostile to be JSON', () => {
  const stored = `\0json:${'['.repeat(2 ** 20)}NaN`

  assert.equal(decodeContent(stored), stored)
})

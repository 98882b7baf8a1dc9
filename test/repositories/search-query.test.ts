import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import {
  containsCjk,
  countCjk,
  planSearch,
  sanitizeSearchQuery,
} from '../../src/repositories/search-query.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'

interface PlanCase {
  path: 'none' | 'fts' | 'trigram' | 'like'
  match?: string
  patterns?: string[]
  snippet_token?: string
}

for (const name of ['sanitizer', 'sanitizer_fuzz']) {
  test(`sanitises and routes as recorded in ${name}`, () => {
    assertGolden(
      readGolden(name) as (PlanCase & { in: string; out: string })[],
      (recorded) => JSON.stringify(recorded.in),
      (recorded) => {
        assert.equal(sanitizeSearchQuery(recorded.in), recorded.out)
        assertPlan(recorded.out, recorded)
      },
    )
  })
}

test('routes recorded searches as recorded', () => {
  assertGolden(
    readGolden('search_messages') as (PlanCase & { query: string; kwargs: object })[],
    (recorded) => JSON.stringify([recorded.query, recorded.kwargs]),
    (recorded) => assertPlan(sanitizeSearchQuery(recorded.query), recorded),
  )
})

test('tells CJK characters as recorded', () => {
  assertGolden(
    readGolden('cjk') as { in: string; contains: boolean; count: number }[],
    (recorded) => JSON.stringify(recorded.in),
    (recorded) => {
      assert.equal(containsCjk(recorded.in), recorded.contains)
      assert.equal(countCjk(recorded.in), recorded.count)
    },
  )
})

test('sanitises what the recorded cases do not touch', () => {
  const cases: [query: string, sanitized: string][] = [
    // A combining mark ends a word: it is a boundary for operators and phrases alike.
    ['AND\u0301 x', '\u0301 x'],
    ['नमस्ते-दुनिया', 'नमस्ते-दुनिया'],
    ['e\u0301t-a', 'e\u0301"t-a"'],
    ['ANDé', 'ANDé'],
    ['\ufeffAND x', '\ufeffAND x'],
    ['aN d not', 'aN d'],
    ['x oR', 'x'],
    ['x\x1cnOt\x85', 'x'],
    ['a٣-²b½', '"a٣-²b½"'],
    ['_a', '_a'],
    ['_a_', '_a_'],
    ['_a_b', '"_a_b"'],
    ['___', '"___"'],
    ['a-_', '"a-_"'],
    ['a\ud800-b', 'a\ud800-b'],
    ['x \ufeff*', 'x \ufeff*'],
    ['x\u3000*y', 'x\u3000y'],
    ['"a b" \0Q0\0 \0Q1\0', '"a b" "a b" \0Q1\0'],
    ['a\0-b', 'a\0-b'],
    ['"a"."b"', '"a"."b"'],
    ['"a" AND', '"a"'],
    ['OR"a"', '"a"'],
    ['" "', '" "'],
  ]
  for (const [query, sanitized] of cases) assert.equal(sanitizeSearchQuery(query), sanitized)
})

test('no query makes it throw or leaves blanks at the ends', () => {
  const unit = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 2 }),
    fc.constantFrom(
      '"',
      '*',
      ' ',
      '(',
      'AND ',
      ' or',
      'NOT',
      '-',
      '.',
      '_',
      '\0Q0\0',
      '大',
      '\ud83d',
    ),
  )
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 20 }), (units) => {
      const sanitized = sanitizeSearchQuery(units.join(''))
      assert.doesNotMatch(sanitized, /^[ \t\n\u3000]|[ \t\n\u3000]$/)
      assert.equal(planSearch(sanitized).route === 'none', sanitized === '')
    }),
  )
})

test('plans hostile megabytes', { timeout: 20_000 }, () => {
  const size = 2 ** 20
  const pieces = [
    'a',
    'a.',
    '_',
    '"',
    '"" ',
    '*',
    ' *',
    'AND ',
    '𠀀',
    '大 ',
    '大大大 ',
    '\0Q0',
    '大 NOT ',
  ]
  for (const piece of pieces) planSearch(sanitizeSearchQuery(piece.repeat(size / piece.length)))
  planSearch(sanitizeSearchQuery(`a${' '.repeat(size)}AND b`))
  planSearch(sanitizeSearchQuery(`"a" ${'\0Q0\0'.repeat(size / 4)}`))
})

function assertPlan(sanitized: string, recorded: PlanCase): void {
  const plan = planSearch(sanitized)
  assert.equal(plan.route, recorded.path)
  if (plan.route === 'fts' || plan.route === 'trigram') assert.equal(plan.match, recorded.match)
  if (plan.route !== 'like') return
  assert.equal(plan.tokens[0], recorded.snippet_token)
  const patterns = plan.tokens.map((token) => `%${token.replace(/[\\%_]/g, String.raw`\$&`)}%`)
  assert.deepEqual(patterns, recorded.patterns)
}

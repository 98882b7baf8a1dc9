import assert from 'node:assert/strict'
import test from 'node:test'

import { InvalidInputError, InvalidQueryError } from '../../src/index.ts'
import { parseQuery } from '../../src/repositories/search-parser.ts'
import type { SearchExpression } from '../../src/schema/search-expression.ts'

/** `a b` → (a & b), `a OR b` → (a | b), `a -b` → (a ! b), `a*` → a*. */
function shown(expression: SearchExpression | undefined): string {
  if (!expression) return ''
  switch (expression.kind) {
    case 'term':
      return expression.text + (expression.isPrefix ? '*' : '')
    case 'near':
      return `near ${expression.distance} (${expression.terms.map(shown).join(', ')})`
    case 'not':
      return `(${[expression.wanted, ...expression.unwanted].map(shown).join(' ! ')})`
    default:
      return `(${expression.parts.map(shown).join(expression.kind === 'and' ? ' & ' : ' | ')})`
  }
}

test('reads words, phrases, operators, prefixes, brackets and NEAR', () => {
  const cases: [query: string, meaning: string][] = [
    ['hello world', '(hello & world)'],
    ['"hello world" again', '(hello world & again)'],
    ['a OR b c', '(a | (b & c))'],
    ['a AND b OR c', '((a & b) | c)'],
    ['a b NOT c d', '((a & b) ! (c & d))'],
    ['a NOT b NOT c', '(a ! b ! c)'],
    ['a AND b NOT c', '((a & b) ! c)'],
    ['a -b', '(a ! b)'],
    ['a -"b c" d', '((a & d) ! b c)'],
    ['-b a', '(a ! b)'],
    ['a OR b -c', '((a | b) ! c)'],
    ['deploy*', 'deploy*'],
    ['"pre fix"*', 'pre fix*'],
    ['de*ploy', '(de* & ploy)'],
    ['(a OR b) c', '((a | b) & c)'],
    ['a NOT (b OR c)', '(a ! (b | c))'],
    ['((a))', 'a'],
    ['f(x)', '(f & x)'],
    ['NEAR(a b)', 'near 10 (a, b)'],
    ['NEAR("a b" c, 5)', 'near 5 (a b, c)'],
    ['NEAR(a b,5)', 'near 5 (a, b)'],
    ['a a a', 'a'],
    ['广西 AND 桂林', '(广西 & 桂林)'],
    ['天气 -今天', '(天气 ! 今天)'],
    ['a -(b OR c)', '(a ! (b | c))'],
    ['a -#tag -@name', '(a ! #tag ! @name)'],
    ['a -.env -/tmp', '(a ! .env ! /tmp)'],
    ['a -🚀', '(a ! 🚀)'],
  ]
  for (const [query, meaning] of cases) {
    const { expression, notes } = parseQuery(query)
    assert.equal(shown(expression), meaning, query)
    assert.deepEqual(notes, [], query)
  }
})

test('everything else is text', () => {
  const cases: [query: string, meaning: string][] = [
    ["don't stop", "(don't & stop)"],
    ['C# C++', '(C# & C++)'],
    ['50% off!', '(50% & off!)'],
    ['src/main.py:3', 'src/main.py:3'],
    ['--force x', '(--force & x)'],
    ['user@example.com', 'user@example.com'],
    ['a - b', '(a & b)'],
    ['a -> b', '(a & b)'],
    ['a-b', 'a-b'],
    ['a or b', '(a & or & b)'],
    ['near(a b)', '(near & a & b)'],
    ['{content}: x', '({content}: & x)'],
    ['...', '...'],
    ['🚀 now', '(🚀 & now)'],
    ['not json', 'json'],
    ['hello and', 'hello'],
    ['x AND NOT y', '(x ! y)'],
    ['x OR OR y', '(x | y)'],
    ['AND x', 'x'],
    ['OR OR', 'OR'],
    ['', ''],
    ['*', ''],
    ['AND', ''],
  ]
  for (const [query, meaning] of cases)
    assert.equal(shown(parseQuery(query).expression), meaning, query)
})

test('says what it passed over, and where', () => {
  const cases: [query: string, meaning: string, position: number][] = [
    ['a "b', '(a & b)', 2],
    ['(a OR b', '(a | b)', 0],
    ['a) OR b', '(a | b)', 1],
    ['-a', 'a', 0],
    ['-a OR b', '(a | b)', 0],
    ['x NEAR(a)', '(x & NEAR & a)', 2],
    ['NEAR(大别 山)', '(NEAR & 大别 & 山)', 0],
  ]
  for (const [query, meaning, position] of cases) {
    const { expression, notes } = parseQuery(query)
    assert.equal(shown(expression), meaning, query)
    assert.deepEqual(
      notes.map((note) => [note.code, note.position]),
      [['read-as-text', position]],
      query,
    )
  }
  assert.equal(parseQuery('" "').notes[0]?.code, 'nothing-to-find')
})

test('refuses what cannot be looked for, naming the place', () => {
  const manyTerms = Array.from({ length: 5001 }, (_, index) => `t${index}`).join(' ')
  const cases: [query: string, position: number][] = [
    [manyTerms, manyTerms.lastIndexOf('t')],
    [`ab ${'字'.repeat(20_000)}`, 3],
    [`${'('.repeat(65)}a${')'.repeat(65)}`, 64],
  ]
  for (const [query, position] of cases) {
    assert.throws(
      () => parseQuery(query),
      (error) =>
        error instanceof InvalidQueryError &&
        error instanceof InvalidInputError &&
        error.code === 'INVALID_QUERY' &&
        error.position === position,
    )
  }
})

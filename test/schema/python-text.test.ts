import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import {
  codePointLength,
  PYTHON_SPACE,
  PYTHON_WORD,
  pyStrip,
  replaceLoneSurrogates,
  sliceCodePoints,
} from '../../src/schema/python-text.ts'

const anyUnits = fc
  .array(fc.oneof(fc.nat(0xff_ff), fc.constantFrom(0xd8_3d, 0xde_80, 0x20, 0xfe_ff)))
  .map((units) => String.fromCharCode(...units))

test('whitespace is what Python takes for it and nothing else', () => {
  const space = new RegExp(`[${PYTHON_SPACE}]`)
  const found: string[] = []
  for (let code = 0; code <= 0xff_ff; code += 1) {
    if (space.test(String.fromCharCode(code))) found.push(code.toString(16))
  }

  assert.equal(
    found.join(' '),
    '9 a b c d 1c 1d 1e 1f 20 85 a0 1680 2000 2001 2002 2003 2004 2005 2006 2007 2008 2009 200a ' +
      '2028 2029 202f 205f 3000',
  )
})

test('letters, digits of any script and the underscore are word characters, combining marks are not', () => {
  const word = new RegExp(`^[${PYTHON_WORD}]$`, 'u')

  for (const text of ['a', 'é', '大', 'ไ', '𠀀', '1', '٣', '²', 'Ⅷ', '½', '_'])
    assert.match(text, word)
  for (const text of ['\u0301', '\u0e31', '-', '.', '\0', '\u200d', '🚀', '\ud800'])
    assert.doesNotMatch(text, word)
})

test('strips both ends, keeps the byte order mark, and stays quick on inner blanks', () => {
  assert.equal(pyStrip('\x1c\u3000 a b\x85\n'), 'a b')
  assert.equal(pyStrip('\ufeffa'), '\ufeffa')
  assert.equal(pyStrip(' \t'), '')
  const blanks = ' '.repeat(2 ** 20)
  assert.equal(pyStrip(`${blanks}a${blanks}b${blanks}`), `a${blanks}b`)
})

test('counts and cuts by code points, lone surrogates included', () => {
  fc.assert(
    fc.property(anyUnits, fc.nat(20), (text, count) => {
      const codePoints = Array.from(text)
      assert.equal(codePointLength(text), codePoints.length)
      assert.equal(sliceCodePoints(text, count), codePoints.slice(0, count).join(''))
    }),
  )
})

test('only lone surrogates are replaced', () => {
  assert.equal(replaceLoneSurrogates('a\ud83d🚀\ude80\0'), 'a\ufffd🚀\ufffd\0')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { parseCommand } from '../../src/gateway-adapter/commands.ts'

const mine = (name: string, argument = '') => ({ addressedElsewhere: false, name, argument })

test('a command has a lower-case name and a trimmed argument', () => {
  assert.deepEqual(parseCommand('/new'), mine('new'))
  assert.deepEqual(parseCommand('/title My title'), mine('title', 'My title'))
  assert.deepEqual(parseCommand('  /TITLE   Größe & 🙂  '), mine('title', 'Größe & 🙂'))
  assert.deepEqual(parseCommand('/reset-all\tnow'), mine('reset-all', 'now'))
})

test('an argument keeps its lines', () => {
  assert.deepEqual(
    parseCommand('/note\nfirst line\n\n  second\n'),
    mine('note', 'first line\n\n  second'),
  )
})

test('a command addressed to this bot is its own, whatever the case of the name', () => {
  assert.deepEqual(
    parseCommand('/search@MyBot a query', { botUserName: 'mybot' }),
    mine('search', 'a query'),
  )
  assert.deepEqual(parseCommand('/search@mybot', { botUserName: '@MyBot' }), mine('search'))
  assert.deepEqual(parseCommand('/search@AnyBot'), mine('search'))
})

test('a command addressed to another bot is told apart from ordinary text', () => {
  assert.deepEqual(parseCommand('/search@OtherBot secrets', { botUserName: 'MyBot' }), {
    addressedElsewhere: true,
    botUserName: 'OtherBot',
  })
})

test('other text is no command', () => {
  for (const text of [
    '',
    '/',
    '//',
    '/ new',
    'new',
    'say /new',
    '/usr/bin/env',
    '/1',
    '/new@',
    '/new@@x',
    '/new!',
    'hi\n/new',
  ]) {
    assert.equal(parseCommand(text), undefined, text)
  }
})

test('any name and argument come back as they went in', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,31}$/)
  fc.assert(
    fc.property(name, fc.string({ unit: 'binary' }), (given, argument) => {
      assert.deepEqual(parseCommand(`/${given} ${argument}`), mine(given, argument.trim()))
    }),
  )
})

import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { type ChatSourceInput, normalizeSource } from '../../src/gateway-adapter/chat-source.ts'

const minimal = { platform: 'telegram', chatType: 'dm' } as const

test('numeric ids become the same text the platform shows', () => {
  const source = normalizeSource({
    ...minimal,
    chatId: -1001234567890,
    userId: 7,
    messageId: 2n ** 70n,
  })

  assert.deepEqual(source, {
    platform: 'telegram',
    chatType: 'dm',
    chatId: '-1001234567890',
    userId: '7',
    messageId: '1180591620717411303424',
  })
})

test('a number that has lost digits is refused, its text and its bigint are not', () => {
  assert.throws(
    () => normalizeSource({ ...minimal, userId: Number('1180591620717411303') }),
    (error) => error instanceof InvalidInputError && error.field === 'source.userId',
  )
  for (const userId of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => normalizeSource({ ...minimal, userId }), InvalidInputError)
  }

  assert.equal(
    normalizeSource({ ...minimal, userId: '1180591620717411303' }).userId,
    '1180591620717411303',
  )
  assert.equal(
    normalizeSource({ ...minimal, userId: 1180591620717411303n }).userId,
    '1180591620717411303',
  )
})

test('empty, null and undefined optional fields are absent, false is kept', () => {
  const source = normalizeSource({
    ...minimal,
    chatId: '',
    threadId: null,
    userId: undefined,
    userName: '',
    chatName: null,
    isBot: false,
  })

  assert.deepEqual(source, { ...minimal, isBot: false })
})

test('a source without platform or chat type, or with a field of the wrong type, is refused by name', () => {
  const refused: [field: string, input: unknown][] = [
    ['source', undefined],
    ['source', 'telegram'],
    ['source.platform', { chatType: 'dm' }],
    ['source.platform', { platform: ' ', chatType: 'dm' }],
    ['source.platform', { platform: 7, chatType: 'dm' }],
    ['source.chatType', { platform: 'telegram' }],
    ['source.chatId', { ...minimal, chatId: { id: 1 } }],
    ['source.threadId', { ...minimal, threadId: true }],
    ['source.userName', { ...minimal, userName: 7 }],
    ['source.isBot', { ...minimal, isBot: 'no' }],
  ]
  for (const [field, input] of refused) {
    assert.throws(
      () => normalizeSource(input as ChatSourceInput),
      (error) => error instanceof InvalidInputError && error.field === field,
      field,
    )
  }
})

test('the canonical form is frozen, a copy, and its own canonical form', () => {
  const text = fc.option(fc.string({ unit: 'binary', maxLength: 8 }), { nil: undefined })
  const id = fc.oneof(text, fc.maxSafeInteger(), fc.bigInt(), fc.constant(null))
  const input = fc.record({
    platform: fc.constantFrom('telegram', 'discord'),
    chatType: fc.constantFrom('dm', 'group'),
    account: id,
    chatId: id,
    userId: id,
    userName: text,
  })
  fc.assert(
    fc.property(input, (given) => {
      const source = normalizeSource(given)

      assert.ok(Object.isFrozen(source))
      assert.notEqual(source, given)
      assert.deepEqual(normalizeSource(source), source)
    }),
  )
})

test('text that SQLite could not store as given is canonical before it gets there', () => {
  const source = normalizeSource({ ...minimal, chatId: 'room\ud800', userName: '\udc00' })

  assert.equal(source.chatId, 'room\ufffd')
  assert.equal(source.userName, '\ufffd')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { type ChatSourceInput, normalizeSource } from '../../src/gateway-adapter/chat-source.ts'
import { routeParts, sessionKey } from '../../src/gateway-adapter/session-key.ts'

// Few values, so that sources often nearly agree; ':' and '' where a separator or a gap could be forged.
const id = fc.constantFrom(undefined, '', '1', 1, 1n, '42', '4:2', ':', '1:42', '🙂:')
const source: fc.Arbitrary<ChatSourceInput> = fc.record({
  platform: fc.constantFrom('telegram', 'matrix', 'telegram:group'),
  chatType: fc.constantFrom('dm', 'group', 'channel', 'thread', 'group:1'),
  account: id,
  chatId: id,
  threadId: id,
  userId: id,
  userIdAlt: id,
})
const options = fc.record({
  groupSessionsPerUser: fc.boolean(),
  threadSessionsPerUser: fc.boolean(),
})

type Options = { groupSessionsPerUser: boolean; threadSessionsPerUser: boolean }

/** The rule of who talks with whom, told without any key: the conversation, and who else is in it. */
function isSameConversation(a: ChatSourceInput, b: ChatSourceInput, given: Options): boolean {
  const [x, y] = [normalizeSource(a), normalizeSource(b)]
  const isSameChat =
    x.platform === y.platform &&
    x.account === y.account &&
    x.chatType === y.chatType &&
    x.chatId === y.chatId &&
    x.threadId === y.threadId
  const isSamePerson = (x.userIdAlt ?? x.userId) === (y.userIdAlt ?? y.userId)
  if (x.chatType === 'dm') return isSameChat && (x.chatId !== undefined || isSamePerson)
  const isThreadShared = x.threadId !== undefined && !given.threadSessionsPerUser
  return isSameChat && (!given.groupSessionsPerUser || isThreadShared || isSamePerson)
}

test('two messages have equal routes exactly when they belong to one conversation', () => {
  fc.assert(
    fc.property(source, source, options, (a, b, given) => {
      const isEqual = isDeepStrictEqual(routeParts(a, given), routeParts(b, given))

      assert.equal(isEqual, isSameConversation(a, b, given))
    }),
    { numRuns: 5000 },
  )
})

test('a source and its near twin have equal routes exactly when they belong to one conversation', () => {
  const field = fc.constantFrom('account', 'chatId', 'threadId', 'userId', 'userIdAlt')
  fc.assert(
    fc.property(source, field, id, options, (a, changed, value, given) => {
      const b: ChatSourceInput = { ...a, [changed]: value }
      const isEqual = isDeepStrictEqual(routeParts(a, given), routeParts(b, given))

      assert.equal(isEqual, isSameConversation(a, b, given))
    }),
    { numRuns: 2000 },
  )
})

test('equal routes have equal keys, and every part of a route is text', () => {
  fc.assert(
    fc.property(source, options, (a, given) => {
      const route = routeParts(a, given)

      for (const part of Object.values(route)) assert.equal(typeof part, 'string')
      assert.equal(sessionKey(a, given), sessionKey(normalizeSource(a), given))
      assert.equal(sessionKey({ ...route }, given), sessionKey(a, given))
    }),
  )
})

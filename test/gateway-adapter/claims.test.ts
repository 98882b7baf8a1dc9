import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openGateway, type ChatSourceInput } from '../../src/gateway-adapter/index.ts'
import { exchange, gatewayOn, group, transcript } from './chats.ts'

/** On a platform that names no chat. */
const nowhere = (of: Partial<ChatSourceInput>): ChatSourceInput => ({
  platform: 'x',
  chatType: 'dm',
  ...of,
})
const alice = nowhere({ userId: 'alice' })
const bob = nowhere({ userId: 'bob' })

test('where no chat has an id, equal message ids of two people, threads or kinds of chat are different messages', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const places = [
    alice,
    bob,
    nowhere({ userId: 'alice', threadId: 't' }),
    nowhere({ userId: 't', threadId: 'alice' }),
    nowhere({ chatType: 'group', userId: 'alice' }),
    nowhere({ chatType: 'group', userId: 'bob' }),
    nowhere({ chatType: 'group', userId: 'bob', threadId: 't' }),
    nowhere({ chatType: 'group', userId: 'bob', threadId: 'u' }),
  ]

  for (const [index, place] of places.entries()) {
    const taken = await gateway.inbound(place, { text: `said in ${index}`, id: '1' })
    const again = await gateway.inbound(place, { text: `said in ${index}`, id: '1' })

    assert.equal(taken.duplicate, false)
    assert.deepEqual([again.duplicate, again.messageId], [true, taken.messageId])
  }
  assert.equal(await store.messages.count(), places.length)
})

test('where no chat has an id, edits, revisions and commands are of the person who sends them', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const said = await exchange(gateway, alice, '1', 'secret')
  await gateway.title(alice, 'Hers')

  assert.equal(await gateway.edited(bob, '1', 'mine'), undefined)
  assert.deepEqual(await gateway.archive.revisions(bob, '1'), [])
  const hers = await gateway.reset({ ...alice, messageId: '2' })
  const his = await gateway.reset({ ...bob, messageId: '2' })

  assert.deepEqual([hers.duplicate, his.duplicate, his.title], [false, false, null])
  assert.notEqual(his.lane.sessionId, hers.lane.sessionId)
  assert.deepEqual(await transcript(store, said.lane.sessionId), ['secret', 're: secret'])
})

test('what waits for an answer is listed with its own id and person where no chat has an id', async (t) => {
  const { gateway } = await gatewayOn(t)
  await gateway.inbound(alice, { text: 'a', id: '["1"]' })
  await gateway.inbound(bob, { text: 'b', id: '["1"]' })

  const pending = await gateway.pendingTurns({ platform: 'x', since: 0 })

  assert.deepEqual(
    pending.map(({ platformMessageId, lane }) => [platformMessageId, lane.source]),
    ['alice', 'bob'].map((userId) => [
      '["1"]',
      { platform: 'x', chatType: 'dm', userId, messageId: '["1"]' },
    ]),
  )
})

test('a message that comes back by another route is a duplicate that hands out no other lane', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const member = { ...group, userId: 7 }
  const alone = await gateway.inbound(member, { text: 'secret', id: 1 })
  const together = await openGateway(store, { groupSessionsPerUser: false })

  const again = await together.inbound(member, { text: 'secret', id: 1 })

  assert.deepEqual([again.duplicate, again.settled, again.queued], [true, true, false])
  assert.notEqual(again.lane.sessionId, alone.lane.sessionId)
  assert.deepEqual(await together.history(again.lane), [])
  const pending = await together.pendingTurns({ platform: 'telegram', account: '1', since: 0 })
  assert.deepEqual(
    pending.map(({ lane, messageId }) => [lane.sessionId, messageId]),
    [[alone.lane.sessionId, alone.messageId]],
  )
  assert.equal(await store.messages.count(), 1)
})

test("an id that another member's message has leads to nothing of theirs", async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const hers = { ...group, userId: 7, userName: 'Ada' }
  const his = { ...group, userId: 8, userName: 'Bob' }
  const said = await exchange(gateway, hers, '1', 'secret')
  await gateway.edited(hers, '1', 'dark secret')

  const taken = await gateway.inbound(his, { text: 'mine', id: '1' })

  assert.equal(taken.settled, true)
  assert.notEqual(taken.lane.sessionId, said.lane.sessionId)
  assert.deepEqual(await gateway.history(taken.lane, { answering: taken.messageId }), [])
  assert.equal(await gateway.edited(his, '1', 'forged'), undefined)
  assert.deepEqual(await gateway.archive.revisions(his, '1'), [])
  assert.equal((await gateway.archive.revisions(hers, '1')).length, 2)
  assert.deepEqual(await transcript(store, said.lane.sessionId), ['dark secret', 're: secret'])
})

test('in a shared session nobody edits what somebody else wrote', async (t) => {
  const { store, gateway } = await gatewayOn(t, { groupSessionsPerUser: false })
  const { lane } = await gateway.inbound(
    { ...group, userId: 7, userName: 'Ada' },
    { text: 'yes', id: 1 },
  )

  assert.equal(await gateway.edited({ ...group, userId: 8 }, 1, 'no'), undefined)
  assert.equal((await gateway.edited({ ...group, userId: 7 }, 1, 'maybe'))?.changed, true)
  // A platform that does not say who edited it says that it was.
  assert.equal((await gateway.edited(group, 1, 'perhaps'))?.changed, true)
  assert.deepEqual(await transcript(store, lane.sessionId), ['[Ada] perhaps'])
})

test('a message delivered again after its chat has moved, or after a reset, gets the lane it was taken in', async (t) => {
  const { gateway } = await gatewayOn(t)
  const before = { ...group, userId: 7 }
  const after = { ...group, chatId: -1002, userId: 7 }
  const stray = await gateway.inbound(after, { text: 'early', id: 1 })
  await gateway.inbound(before, { text: 'old', id: 1 })
  await gateway.migrateChat({ ...group, fromChatId: group.chatId, toChatId: after.chatId })

  const again = await gateway.inbound(after, { text: 'early', id: 1 })

  assert.deepEqual(
    [again.duplicate, again.settled, again.messageId, again.lane.sessionId],
    [true, false, stray.messageId, stray.lane.sessionId],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ada, exchange, gatewayOn, isInvalid, stopClock, transcript } from './chats.ts'

const bot = { platform: 'telegram', account: '1', since: 0 }

test('ids beyond 2^53 that differ in their last digit are different chats, users and messages', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const source = (last: string) => ({
    platform: 'discord',
    account: '9007199254740993',
    chatType: 'group',
    chatId: `900719925474099${last}`,
    userId: `800719925474099${last}`,
  })

  const one = await exchange(gateway, source('2'), '9007199254740992', 'one')
  const two = await exchange(gateway, source('3'), '9007199254740992', 'two')
  const three = await gateway.inbound(source('3'), { text: 'three', id: 9007199254740993n })

  assert.notEqual(one.lane.sessionId, two.lane.sessionId)
  assert.equal(three.duplicate, false)
  assert.deepEqual(await gateway.deleted(source('3'), ['9007199254740993']), [three.messageId])
  assert.equal((await store.sessions.get(two.lane.sessionId)).userId, '8007199254740993')
  await assert.rejects(gateway.deleted(source('3'), [2 ** 53]), isInvalid('ids[0]'))
})

test("ids with ':', emoji, quotes and NUL are ids like any other", async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const ids = ['a:b', 'a', 'b', '🦊', '🦊:🦊', `'"; --`, '%', '_', 'a\0b', '["a"]']
  const source = (id: string) => ({ ...ada, platform: 'matrix', chatId: id, userId: id })

  for (const id of ids) await exchange(gateway, source(id), id, `said by ${id}`)
  for (const id of ids) await gateway.edited(source(id), id, `edited by ${id}`)
  const gone = await Promise.all(ids.map((id) => gateway.deleted(source(id), [`a${id}`])))

  assert.equal(await store.sessions.count(), ids.length)
  assert(gone.every(({ length }) => length === 1))
  for (const id of ids) {
    const lane = await gateway.resolve(source(id))
    assert.deepEqual(await transcript(store, lane.sessionId), [`edited by ${id}`])
  }
})

test('a message without text is a message', async (t) => {
  const { gateway } = await gatewayOn(t)

  const { lane, messageId } = await exchange(gateway, ada, '1', '')

  assert.equal((await gateway.history(lane, { answering: messageId })).at(-1)?.content, '')
  assert.deepEqual((await gateway.edited(ada, 1, 'a caption'))?.changed, true)
  assert.deepEqual((await gateway.edited(ada, 1, ''))?.changed, true)
})

test('a text of 1 MiB is stored, edited, hidden and sent whole', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const long = '山🦊 word '.repeat(2 ** 20 / 9).padEnd(2 ** 20, 'x')

  const { lane, messageId } = await exchange(gateway, ada, '1', long)
  const edited = `${long} edited`
  await gateway.edited(ada, 1, edited)
  const [question] = await gateway.history(lane, { maxTokens: 10, answering: messageId })
  const { messageIds } = await gateway.undo(ada)
  await gateway.archive.restore(lane, messageIds)

  assert.equal(question?.content, edited)
  assert.deepEqual(await transcript(store, lane.sessionId), [edited, `re: ${long}`])
  const { replies } = await gateway.turn(lane, {
    messages: [{ role: 'assistant', content: long }],
    replies: [long],
  })
  assert.equal(replies[0]?.text, long)
})

test('lone surrogates do not make two messages of one, nor tear a text', async (t) => {
  const { store, gateway } = await gatewayOn(t)

  const { lane } = await gateway.inbound(ada, { text: 'a\ud800b', id: 'x\ud800' })
  const again = await gateway.inbound(ada, { text: 'a\ud800b', id: 'x\ud800' })

  assert.equal(again.duplicate, true)
  assert.deepEqual(await transcript(store, lane.sessionId), ['a\ufffdb'])
})

test('a clock that steps back changes neither the order nor what is new', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t, Date.UTC(2026, 5, 1, 12))
  await exchange(gateway, ada, '1', 'one')

  t.mock.timers.setTime(Date.UTC(2026, 5, 1, 11))
  const { lane } = await exchange(gateway, ada, '2', 'two')
  const again = await gateway.inbound(ada, { text: 'one', id: '1' })
  const open = await gateway.inbound(ada, { text: 'three', id: '3' })
  await gateway.turn(lane, { messages: [{ role: 'assistant', content: 'x' }], operationId: 'o' })
  t.mock.timers.setTime(Date.UTC(2020, 0, 1))
  const twice = await gateway.turn(lane, { messages: [], operationId: 'o' })

  assert.equal(again.duplicate, true)
  assert.equal(twice.duplicate, true)
  assert.deepEqual(
    (await gateway.pendingTurns(bot)).map(({ messageId }) => messageId),
    [open.messageId],
  )
  assert.deepEqual(
    (await gateway.history(lane, { answering: open.messageId })).map(({ content }) => content),
    ['one', 're: one', 'two', 're: two', 'x', 'three'],
  )
  assert.equal(await store.sessions.count(), 1)
})

test('old ids are forgotten in steps, what was said and used stays', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  stopClock(t, Date.UTC(2026, 0, 1))
  const early = Array.from({ length: 1200 }, (_, n) => `${n}`)
  for (const id of early) await gateway.inbound(ada, { text: id, id })
  const answered = await exchange(gateway, ada, 'answered', 'x')
  await gateway.reset({ ...ada, messageId: 5000 })
  t.mock.timers.setTime(Date.UTC(2026, 3, 1))
  await exchange(gateway, ada, 'late', 'y')

  const forgotten = await gateway.archive.forget({ olderThanDays: 60 })
  const again = await gateway.archive.forget({ olderThanDays: 60 })

  assert.deepEqual(forgotten, { inbound: 1201, outbound: 1, turns: 1, commands: 1 })
  assert.deepEqual(again, { inbound: 0, outbound: 0, turns: 0, commands: 0 })
  assert.equal(await store.messages.count(), 1204)
  assert.equal((await gateway.usageByDay(ada, { scope: 'lane' })).length, 2)
  assert.deepEqual(await gateway.pendingTurns(bot), [])
  assert.equal(await gateway.edited(ada, 'answered', 'z'), undefined)
  assert.equal((await gateway.inbound(ada, { text: 'y', id: 'late' })).duplicate, true)
  assert.equal(await store.messages.count(answered.lane.sessionId), 1202)
  await assert.rejects(gateway.archive.forget({ olderThanDays: 0 }), isInvalid('olderThanDays'))
})

test('an edit that says no time is never late, even when the clock has stepped back', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await exchange(gateway, ada, '1', 'first')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })

  for (const text of ['second', 'first', 'second']) {
    assert.equal((await gateway.edited(ada, 1, text))?.changed, true)
  }
  t.mock.timers.setTime(Date.now() - 60_000)
  assert.equal((await gateway.edited(ada, 1, 'third'))?.changed, true)

  assert.equal((await transcript(store, lane.sessionId))[0], 'third')
})

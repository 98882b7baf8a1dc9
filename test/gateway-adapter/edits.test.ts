import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Gateway } from '../../src/gateway-adapter/index.ts'
import type { Store } from '../../src/index.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'
import { ada, bob, channel, exchange, gatewayOn, isInvalid, topic, transcript } from './chats.ts'

const inChannel = { ...channel, chatType: 'group', account: '9', userId: '1' }
const found = async (gateway: Gateway, word: string) =>
  (await gateway.search(ada, word, { scope: 'all', limit: 9 })).length

/** Of the session: messages counted, messages there, tool calls counted. */
async function counters(store: Store, sessionId: string): Promise<unknown[]> {
  const { messageCount, toolCallCount } = await store.sessions.get(sessionId)
  return [messageCount, await store.messages.count(sessionId), toolCallCount]
}

test('an edit replaces the text in history and search, and keeps the old one', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await exchange(gateway, ada, '1', 'the mountain is high')

  const edited = await gateway.edited(ada, 1, 'the valley is deep', { at: 1000 })
  const again = await gateway.edited(ada, 1, 'the valley is deep', { at: 1000 })

  assert.deepEqual(edited, { messageId, changed: true })
  assert.deepEqual(again, { messageId, changed: false })
  assert.deepEqual(await transcript(store, lane.sessionId), [
    'the valley is deep',
    're: the mountain is high',
  ])
  assert.equal(await found(gateway, 'valley'), 1)
  assert.equal(await found(gateway, 'mountain AND is NOT re'), 0)
  assert.deepEqual(await gateway.archive.revisions(ada, 1), [
    { content: 'the mountain is high', replacedAt: 1000 },
    { content: 'the valley is deep', replacedAt: null },
  ])
  assert.deepEqual(await counters(store, lane.sessionId), [2, 2, 0])
})

test('edits that arrive out of order leave the latest text, one that arrives again changes nothing', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await gateway.inbound(ada, { text: 'one', id: 1 })
  const edit = (text: string, at: number) => gateway.edited(ada, 1, text, { at })

  const changed = [
    await edit('three', 30),
    await edit('two', 20),
    await edit('two', 20),
    await edit('four', 40),
    await edit('three', 30),
  ].map((edited) => edited?.changed)

  assert.deepEqual(changed, [true, false, false, true, false])
  assert.deepEqual(await transcript(store, lane.sessionId), ['four'])
  const revisions = await gateway.archive.revisions(ada, 1)
  assert.deepEqual(
    revisions.map(({ content }) => content),
    ['one', 'two', 'three', 'four'],
  )
})

test('an edit in a shared chat still says who wrote it', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await gateway.inbound(topic, { text: 'hi', id: 1 })

  await gateway.edited({ ...topic, userName: undefined }, 1, 'hello')

  assert.deepEqual(await transcript(store, lane.sessionId), ['[Ada] hello'])
})

test('an edit of an unknown, deleted or foreign message is passed over', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await exchange(gateway, ada, '1', 'hello')

  assert.equal(await gateway.edited(ada, 99, 'x'), undefined)
  assert.equal(await gateway.edited(bob, 1, 'x'), undefined)
  await gateway.deleted(ada, [1])
  assert.equal(await gateway.edited(ada, 1, 'x'), undefined)
  assert.deepEqual(await gateway.archive.revisions(ada, 1), [])
  await assert.rejects(gateway.edited(ada, 1, 5 as never), isInvalid('text'))
  await assert.rejects(gateway.edited(ada, '', 'x'), isInvalid('messageId'))
  await assert.rejects(gateway.edited(ada, 1, 'x', { at: Number.NaN }), isInvalid('at'))
  assert.deepEqual(await transcript(store, lane.sessionId), ['re: hello'])
})

test('a deleted message is in neither history nor search, but can be shown and put back', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await exchange(gateway, ada, '1', 'xyzzy')

  const gone = await gateway.deleted(ada, [1, 2, 3])

  assert.deepEqual(gone, [messageId])
  assert.deepEqual(await transcript(store, lane.sessionId), ['re: xyzzy'])
  assert.equal(await found(gateway, 'xyzzy'), 1)
  assert.deepEqual(await counters(store, lane.sessionId), [1, 1, 0])
  const [hidden, ...others] = await gateway.archive.hidden(lane)
  assert.deepEqual([hidden?.id, hidden?.content, hidden?.reason], [messageId, 'xyzzy', 'deleted'])
  assert.deepEqual(others, [])

  assert.deepEqual(await gateway.archive.restore(lane, [messageId, 12345]), [messageId])

  assert.deepEqual(await transcript(store, lane.sessionId), ['xyzzy', 're: xyzzy'])
  assert.equal(await found(gateway, 'xyzzy'), 2)
  assert.deepEqual(await counters(store, lane.sessionId), [2, 2, 0])
  assert.deepEqual(await gateway.archive.hidden(lane), [])
})

test('a deletion finds messages by platform, chat and id alone, whichever bot took them', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const nine = await exchange(gateway, inChannel, '7', 'to the ninth bot')
  const ten = await exchange(gateway, { ...inChannel, account: '10' }, '7', 'to the tenth')
  const other = await exchange(gateway, { ...inChannel, chatId: '2' }, '7', 'elsewhere')

  const one = await gateway.deleted({ ...channel, account: '10' }, ['7'])
  const rest = await gateway.deleted(channel, ['7'])

  assert.deepEqual([one, rest], [[ten.messageId], [nine.messageId]])
  assert.equal(await store.messages.count(other.lane.sessionId), 2)
  await assert.rejects(gateway.deleted({ platform: 'discord' }, ['7']), isInvalid('chatId'))
})

test("an answer of the bot's own is hidden when the last of its parts is deleted", async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(inChannel, { text: 'tell me', id: '1' })
  await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: 'long', platformMessageIds: ['2', '3'] }],
  })

  const first = await gateway.deleted(channel, ['2'])
  const second = await gateway.deleted(channel, ['3'])

  assert.deepEqual([first.length, second.length], [0, 1])
  assert.deepEqual(await transcript(store, lane.sessionId), ['tell me'])
})

test('with a message that called tools their results go, too', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'weather?', id: 1 })
  await gateway.turn(lane, {
    answers: messageId,
    messages: [
      {
        role: 'assistant',
        content: 'I will look.',
        toolCalls: [{ id: 'a' }, { id: 'b' }],
        platformMessageIds: [2],
      },
      { role: 'tool', content: 'sun', toolCallId: 'a' },
      { role: 'tool', content: 'warm', toolCallId: 'b' },
      { role: 'assistant', content: 'Sunny.', platformMessageIds: [3] },
    ],
  })

  await gateway.deleted(ada, [2])

  assert.deepEqual(await transcript(store, lane.sessionId), ['weather?', 'Sunny.'])
  assert.deepEqual(await counters(store, lane.sessionId), [2, 2, 0])
})

test('a message deleted before it is answered gets no answer any more', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane, messageId } = await gateway.inbound(ada, { text: 'never mind', id: 1 })

  await gateway.deleted(ada, [1])
  const turn = await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: 'well' }],
    replies: ['well'],
  })
  const again = await gateway.inbound(ada, { text: 'never mind', id: 1 })

  assert.deepEqual(turn, { messageIds: [], duplicate: true, replies: [] })
  assert.deepEqual([again.duplicate, again.settled], [true, true])
  assert.equal(await store.messages.count(), 0)
  assert.deepEqual(await gateway.pendingTurns({ platform: 'telegram', account: '1', since: 0 }), [])
})

test('undo takes the last questions back with all that was said to them', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await exchange(gateway, ada, '1', 'one')
  const two = await gateway.inbound(ada, { text: 'two', id: 2 })
  await gateway.turn(lane, {
    answers: two.messageId,
    messages: [
      { role: 'assistant', toolCalls: [{ id: 'c' }] },
      { role: 'tool', content: 't', toolCallId: 'c' },
      { role: 'assistant', content: 'done' },
    ],
  })
  await exchange(gateway, ada, '3', 'three')

  const last = await gateway.undo(ada)
  const afterLast = await transcript(store, lane.sessionId)
  const rest = await gateway.undo(ada, 5)

  assert.deepEqual([last.turns, last.messageIds.length, last.question], [1, 2, 'three'])
  assert.equal(afterLast.length, 6)
  assert.deepEqual([rest.turns, rest.messageIds.length, rest.question], [2, 6, 'one'])
  assert.deepEqual(await counters(store, lane.sessionId), [0, 0, 0])
  assert.equal((await gateway.undo(ada)).turns, 0)
  assert.equal((await gateway.archive.hidden(lane)).length, 8)
  assert.equal((await gateway.usage(ada)).outputTokens, 2)
  await assert.rejects(gateway.undo(ada, 0), isInvalid('n'))
})

test('undo of a question that came in early leaves the answer to the one before', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const one = await gateway.inbound(ada, { text: 'one', id: 1 })
  const two = await gateway.inbound(ada, { text: 'two', id: 2 })
  for (const { lane, messageId } of [one, two]) {
    const messages = [{ role: 'assistant', content: `answer ${messageId - one.messageId}` }]
    await gateway.turn(lane, { answers: messageId, messages })
  }

  await gateway.undo(ada)

  assert.deepEqual(await transcript(store, one.lane.sessionId), ['one', 'answer 0'])
})

test('a redelivered undo or branch is not carried out again', async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await exchange(gateway, ada, '1', 'one')
  await exchange(gateway, ada, '2', 'two')

  await gateway.undo({ ...ada, messageId: 10 })
  const again = await gateway.undo({ ...ada, messageId: 10 })
  const branched = await gateway.branch({ ...ada, messageId: 11 })
  const once = await gateway.branch({ ...ada, messageId: 11 })

  assert.deepEqual([again.duplicate, again.turns], [true, 0])
  assert.equal(await store.messages.count(lane.sessionId), 2)
  assert.equal(once?.duplicate, true)
  assert.equal(once?.lane.sessionId, branched?.lane.sessionId)
  assert.equal(await store.sessions.count(), 2)
})

test("a branch is a copy under a numbered title, and its parent ends as Hermes' do", async (t) => {
  const { store, gateway } = await gatewayOn(t)
  const { lane } = await exchange(gateway, ada, '1', 'one')
  await store.messages.append(lane.sessionId, {
    role: 'assistant',
    content: [{ type: 'text', text: 'parts' }],
    toolCalls: [{ id: 'x' }],
    reasoning: 'because',
  })
  await gateway.title(ada, 'Trip')

  const branch = await gateway.branch(ada)
  assert(branch)
  await exchange(gateway, ada, '2', 'only here')

  assert.equal(branch.title, 'Trip #2')
  const parent = await store.sessions.get(lane.sessionId)
  const child = await store.sessions.get(branch.lane.sessionId)
  assert.deepEqual([parent.endReason, child.parentSessionId], ['branched', parent.id])
  assert.deepEqual(await counters(store, child.id), [5, 5, 1])
  const [original, copy] = [
    await store.messages.list(parent.id),
    await store.messages.list(child.id),
  ]
  const said = (messages: typeof copy) =>
    messages.map(({ role, content, toolCalls, reasoning }) => ({
      role,
      content,
      toolCalls,
      reasoning,
    }))
  assert.deepEqual(said(copy.slice(0, 3)), said(original))
  const listed = (await store.sessions.list()).map(({ id }) => id)
  assert.deepEqual(listed.toSorted(), [parent.id, child.id].toSorted())

  const back = await gateway.resume(ada, parent.id, { scope: 'lane' })
  assert.equal(back?.messageCount, 3)
  const named = await gateway.branch(ada, { title: 'Detour' })
  assert.equal(named?.title, 'Detour')
})

test('a branch of nothing is none, one with a taken title leaves the chat where it was', async (t) => {
  const { gateway } = await gatewayOn(t)
  await gateway.reset(bob, { title: 'Trip' })

  assert.equal(await gateway.branch(ada), undefined)
  const { lane } = await exchange(gateway, ada, '1', 'one')
  await assert.rejects(gateway.branch(ada, { title: 'Trip' }), { code: 'TITLE_TAKEN' })
  assert.equal((await gateway.resolve(ada)).sessionId, lane.sessionId)

  await gateway.title(ada, 'x'.repeat(100))
  assert.equal((await gateway.branch(ada))?.title, 'x'.repeat(90))
})

test(
  'the Python program finds edited, deleted, undone and restored messages as they are, and can go on deleting',
  { skip: skipWithoutPython() },
  async (t) => {
    const { store, gateway } = await gatewayOn(t)
    const { lane } = await exchange(gateway, ada, '1', 'first mountain')
    await exchange(gateway, ada, '2', 'second mountain')
    await exchange(gateway, ada, '3', 'third mountain')
    await gateway.edited(ada, 1, 'nul \0 valley 山谷 text')
    await gateway.deleted(ada, [2])
    const { messageIds } = await gateway.undo(ada)
    await gateway.archive.restore(lane, messageIds.slice(0, 1))

    const seen = JSON.parse(
      await runPython(
        `import json, sqlite3, sys
c = sqlite3.connect(sys.argv[1], timeout=5)
c.execute("PRAGMA foreign_keys=ON")
all = lambda q, *a: [list(r) for r in c.execute(q, a)]
match = lambda table, q: [r[0] for r in all(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", q)]
out = {
  "content": [r[0] for r in all("SELECT content FROM messages ORDER BY id")],
  "count": all("SELECT message_count FROM sessions")[0][0],
  "mountain": len(match("messages_fts", "mountain")),
  "trigram": len(match("messages_fts_trigram", '"ountai"')),
  "valley": len(match("messages_fts", "valley")),
}
c.execute("DELETE FROM messages")
c.execute("DELETE FROM sessions")
c.commit()
out["left"] = [all(f"SELECT count(*) FROM {t}")[0][0] for t in
  ("store_hidden_messages", "store_revisions", "store_outbox")]
out["keys"] = all("PRAGMA foreign_key_check")
out["ok"] = all("PRAGMA integrity_check")[0][0]
c.execute("INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')")
print(json.dumps(out))`,
        [store.path],
      ),
    ) as object

    assert.deepEqual(seen, {
      content: [
        'nul \0 valley 山谷 text',
        're: first mountain',
        're: second mountain',
        'third mountain',
      ],
      count: 4,
      mountain: 3,
      trigram: 3,
      valley: 1,
      left: [0, 0, 0],
      keys: [],
      ok: 'ok',
    })
  },
)

import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { openGateway, type Gateway } from '../../src/gateway-adapter/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { tempFolder } from '../support/temp-store.ts'
import { ada, bob } from './chats.ts'

type Step = (gateway: Gateway, source: typeof ada) => Promise<unknown>

const number = fc.integer({ min: 1, max: 6 })
const word = fc.constantFrom('oak', 'ash', 'nul \0 elm', '山', '')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(number, word).map(([id, text]): Step => (gateway, source) => {
    return gateway.inbound(source, { id, text })
  }),
  fc.tuple(number, word).map(([id, text]): Step => async (gateway, source) => {
    const { lane, messageId } = await gateway.inbound(source, { id, text })
    return gateway.turn(lane, {
      answers: messageId,
      messages: [
        { role: 'assistant', toolCalls: [{ id: `c${id}` }], platformMessageIds: [`b${id}`] },
        { role: 'tool', toolCallId: `c${id}`, content: text },
        { role: 'assistant', content: text, platformMessageIds: [`a${id}`] },
      ],
      usage: { outputTokens: 1 },
      replies: [`re: ${text}`],
    })
  }),
  fc.tuple(number, word, fc.nat(9)).map(([id, text, at]): Step => (gateway, source) => {
    return gateway.edited(source, id, text, { at })
  }),
  fc.tuple(number, fc.constantFrom('', 'a', 'b')).map(([id, prefix]): Step => (gateway, source) => {
    return gateway.deleted(source, [`${prefix}${id}`, 'unknown'])
  }),
  fc.integer({ min: 1, max: 3 }).map(
    (n): Step =>
      (gateway, source) =>
        gateway.undo(source, n),
  ),
  fc.constant<Step>((gateway, source) => gateway.branch(source)),
  fc.constant<Step>((gateway, source) => gateway.reset(source)),
  fc.constant<Step>(async (gateway, source) => {
    const lane = await gateway.resolve(source)
    const hidden = await gateway.archive.hidden(lane)
    return gateway.archive.restore(
      lane,
      hidden.slice(0, 2).map((message) => message.id),
    )
  }),
)

test('whatever is said, edited, deleted, undone, restored and branched: nothing is lost, doubled or miscounted', async (t) => {
  const folder = tempFolder(t)
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 25 }), async (steps) => {
      run += 1
      await using store = await openStore({ path: `${folder}/${run}.db`, synchronous: 'NORMAL' })
      const gateway = await openGateway(store)

      for (const [work, isAda] of steps) await work(gateway, isAda ? ada : bob)

      await assertWhole(store)
    }),
    { numRuns: 40 },
  )
})

async function assertWhole(store: Store): Promise<void> {
  const { db } = store
  const visible = await db.selectFrom('messages').select(['id', 'session_id', 'role']).execute()
  const hidden = await db.selectFrom('store_hidden_messages').select(['id', 'role']).execute()
  const ids = [...visible, ...hidden].map((row) => row.id)

  // Ids count up without a gap, and hidden messages keep theirs.
  assert.deepEqual(
    ids.toSorted((a, b) => a - b),
    ids.map((_, n) => n + 1),
  )
  for (const { id: sessionId, message_count, tool_call_count } of await db
    .selectFrom('sessions')
    .select(['id', 'message_count', 'tool_call_count'])
    .execute()) {
    const own = visible.filter((row) => row.session_id === sessionId)
    const calls = await db
      .selectFrom('messages')
      .select('id')
      .where('session_id', '=', sessionId)
      .where('tool_calls', 'is not', null)
      .execute()
    assert.deepEqual([message_count, tool_call_count], [own.length, calls.length])
  }
  const claims = await db.selectFrom('store_inbound').select(['message_id', 'settled_at']).execute()
  const answers = (await db.selectFrom('store_turns').select('answers').execute()).map(
    (t) => t.answers,
  )
  assert.equal(new Set(claims.map((claim) => claim.message_id)).size, claims.length)
  assert.equal(new Set(answers).size, answers.length)
  const shown = new Set(visible.map((row) => row.id))
  assert(claims.every((claim) => shown.has(claim.message_id) || claim.settled_at !== null))
  assert.deepEqual(await store.maintenance.check(), [])
}

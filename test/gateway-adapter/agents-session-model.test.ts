import assert from 'node:assert/strict'
import { test } from 'node:test'

import { MemorySession, type AgentInputItem } from '@openai/agents-core'
import * as fc from 'fast-check'

import { AgentsSession } from '../../src/gateway-adapter/agents-session.ts'
import { openTempStore } from '../support/temp-store.ts'
import { agentItem } from './agent-arbitraries.ts'
import { assertCounted } from './faces.ts'

type Operation = (session: AgentsSession<AgentInputItem> | MemorySession) => Promise<unknown>

const items = fc.array(agentItem, { maxLength: 4 })
const operationId = fc.constantFrom('op 1', 'op 2', 'op:3')
const operation: fc.Arbitrary<Operation> = fc.oneof(
  items.map(
    (added): Operation =>
      (session) =>
        session.addItems(added),
  ),
  fc.constant<Operation>((session) => session.popItem()),
  fc.constantFrom(0, 1, 2, 5).map(
    (limit): Operation =>
      (session) =>
        session.getItems(limit),
  ),
  fc.tuple(operationId, items).map(
    ([id, added]): Operation =>
      (session) =>
        session.applyHistoryTransaction({
          operationId: id,
          transaction: { type: 'append_items', items: added },
        }),
  ),
  fc.tuple(operationId, fc.nat({ max: 3 }), items, fc.boolean()).map(
    ([id, count, replacement, matches]): Operation =>
      async (session) =>
        session.applyHistoryTransaction({
          operationId: id,
          transaction: {
            type: 'replace_suffix',
            expectedSuffix: matches
              ? await session.getItems(count)
              : [{ role: 'user', content: 'not there' }],
            replacement,
          },
        }),
  ),
)

const outcome = (answer: Promise<unknown>) => answer.catch(() => 'refused')

test('answers like the in-memory session, whatever is done in whatever order', async (t) => {
  const store = await openTempStore(t, { synchronous: 'NORMAL' })

  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
      const oracle = new MemorySession()
      const session = new AgentsSession<AgentInputItem>(store, { source: 'agents' })
      for (const run of operations) {
        assert.deepEqual(await outcome(run(session)), await outcome(run(oracle)))
        assert.deepEqual(await session.getItems(), await oracle.getItems())
      }
      await assertCounted(store, await session.getSessionId())
    }),
    { numRuns: 60 },
  )
})

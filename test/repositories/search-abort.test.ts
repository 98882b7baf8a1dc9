import assert from 'node:assert/strict'
import test from 'node:test'

import { openTempStore } from '../support/temp-store.ts'

test('an aborted search rejects, also where nothing would be looked for', async (t) => {
  const { search } = await openTempStore(t)
  const reason = new Error('nobody waits any more')
  const signal = AbortSignal.abort(reason)

  for (const query of ['word', '', '*', '天']) {
    await assert.rejects(search.messages(query, { signal }), reason, query)
    await assert.rejects(search.find(query, { signal, limit: 0 }), reason, query)
    await assert.rejects(search.sessions(query, { signal }), reason, query)
  }
})

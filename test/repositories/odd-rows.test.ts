import assert from 'node:assert/strict'
import test from 'node:test'

import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

test('reads tool calls that no program of today stores as the agent does', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const stored: [text: string | null, listed: unknown, replayed: unknown][] = [
    [null, null, undefined],
    ['', '', undefined],
    ['null', null, null],
    ['[1, 2]', [1, 2], [1, 2]],
    ['[1,]', [], []],
    ['{"a": NaN}', { a: NaN }, { a: NaN }],
    ['-Infinity', -Infinity, -Infinity],
  ]
  withFile(store.path, (db) => {
    const insert = db.prepare(
      `insert into messages (session_id, role, timestamp, tool_calls) values ('s', 'user', 1, ?)`,
    )
    for (const [text] of stored) insert.run(text)
  })

  const listed = await store.messages.list('s')
  const replayed = await store.messages.conversation('s')

  assert.deepEqual(
    listed.map((message) => message.toolCalls),
    stored.map((row) => row[1]),
  )
  assert.deepEqual(
    replayed.map((message) => message.tool_calls),
    stored.map((row) => row[2]),
  )
})

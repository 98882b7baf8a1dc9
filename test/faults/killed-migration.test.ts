import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { bigV9 } from '../support/big-state.ts'
import { startOpening } from '../support/open-in-child.ts'
import { assertComplete, withFile } from '../support/state-file.ts'

const MESSAGES = 20_000

test('a migration that is killed leaves the old version or the new, and can be done again', async (t) => {
  const file = bigV9(t, MESSAGES, 200)
  const before = shapeOf(file)

  // At its start, in the middle of the long step, and when all is done but the COMMIT.
  for (const moment of ['"begin"', /"done":\d*[5-9]\d{3},/, '"end"']) {
    await using child = startOpening(file, { flags: ['--hold'] })
    await child.waitForOutput(moment)
    await child.kill('SIGKILL')

    const after = shapeOf(file)
    if (after.version === 9) assert.deepEqual(after, before)
    else assertComplete(file)
  }

  await (await openStore({ path: file })).close()
  assertComplete(file)
  assert.deepEqual(messagesIn(file), before.messages)
})

/** What a step changes: were a half of it there, this would differ. */
function shapeOf(file: string) {
  return {
    version: withFile(file, (db) => db.prepare('select version from schema_version').pluck().get()),
    objects: withFile(file, (db) => db.prepare('select name, sql from sqlite_master').raw().all()),
    messages: messagesIn(file),
    integrity: withFile(file, (db) => db.pragma('integrity_check', { simple: true })),
  }
}

function messagesIn(file: string): unknown {
  return withFile(file, (db) =>
    db.prepare('select count(*), sum(length(content)), max(id) from messages').raw().get(),
  )
}

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { cliJson, runCli, storeFile } from './run-cli.ts'

test('import-sessions reports what it would take over, and with --apply does it once', async (t) => {
  const file = await storeFile(t, (store) =>
    store.sessions.create({ id: 's1', source: 'telegram' }),
  )
  const index = path.join(path.dirname(file), 'sessions.json')
  const [dm, lost] = ['agent:main:telegram:dm:5', 'agent:main:telegram:dm:6']
  writeFileSync(index, JSON.stringify({ [dm]: { session_id: 's1' }, [lost]: { session_id: 'no' } }))
  const given = ['import-sessions', '--db', file, '--account', 'telegram=4242', index]
  const before = readFileSync(file)

  const planned = await runCli(given)
  const untouched = readFileSync(file)
  const applied = await cliJson([...given, '--apply'])
  const again = await cliJson([...given, '--apply'])

  assert.deepEqual(planned, {
    code: 0,
    stdout: `OUTCOME  SESSION  CHAT
new      s1       ${dm}
missing  no       ${lost}
1 of 2 chats to take over; --apply does it
`,
    stderr: '',
  })
  assert.deepEqual(untouched, before)
  assert.deepEqual(applied, {
    applied: true,
    chats: [
      { key: dm, sessionId: 's1', outcome: 'new' },
      { key: lost, sessionId: 'no', outcome: 'missing' },
    ],
  })
  assert.deepEqual((again as { chats: { outcome: string }[] }).chats[0]?.outcome, 'same')
  await using store = await openStore({ path: file })
  const gateway = await openGateway(store)
  const chat = { platform: 'telegram', account: 4242, chatType: 'dm', chatId: 5 }
  assert.equal((await gateway.resolve(chat)).sessionId, 's1')
})

test('import-sessions names what is wrong with its file or its account', async (t) => {
  const file = await storeFile(t, (store) =>
    store.sessions.create({ id: 's1', source: 'telegram' }),
  )

  const notJson = await runCli(['import-sessions', '--db', file, import.meta.filename])
  const absent = await runCli(['import-sessions', '--db', file, `${file}.absent`])
  const account = await runCli(['import-sessions', '--db', file, '--account', 'telegram', 'x'])

  assert.deepEqual([notJson.code, absent.code, account.code], [2, 1, 2])
  assert.match(notJson.stderr, /^hermes-store: .*not JSON/)
  assert.match(absent.stderr, /^hermes-store: ENOENT/)
  assert.match(account.stderr, /must be like telegram=4242/)
})

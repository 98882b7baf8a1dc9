import assert from 'node:assert/strict'
import { test } from 'node:test'

import { cliJson, copyMain, runCli, storeFile } from './run-cli.ts'

interface Shown {
  session: { id: string }
  messages: { id: number; content: unknown }[]
}

test('show takes an id, the beginning of one, and of a numbered title the latest part', async (t) => {
  const file = copyMain(t)

  for (const [typed, id] of [
    ['chain-1', 'chain-1'],
    ['empty', 'empty-1'],
    ['Project X', 'chain-3'],
    ['Project X #2', 'chain-2'],
  ] as const) {
    const shown = await cliJson<Shown>(['show', '--db', file, typed])

    assert.equal(shown.session.id, id, typed)
  }
})

test('show prints who said what, and what tools were called', async (t) => {
  const file = copyMain(t)

  const { code, stdout } = await runCli(['show', '--db', file, 'chain-1'])

  assert.equal(code, 0)
  assert.match(stdout, /^Project X\nchain-1, cli, hermes-4-405b, started 2026-02-02 02:40, ended /)
  assert.match(stdout, /\nuser 2026-02-02 02:40\nPlease deploy the chat-send service/)
  assert.match(stdout, /\ncalls \[\{.*kubernetes rollout 部署/)
})

test('show --limit keeps the last messages, in their order', async (t) => {
  const file = copyMain(t)
  const { messages } = await cliJson<Shown>(['show', '--db', file, 'chain-1'])

  const two = await cliJson<Shown>(['show', '--db', file, 'chain-1', '--limit', '2'])
  const none = await cliJson<Shown>(['show', '--db', file, 'chain-1', '--limit', '0'])

  assert.ok(messages.length > 2)
  assert.deepEqual(two.messages, messages.slice(-2))
  assert.deepEqual(none.messages, [])
})

test('show reads more than one page of messages', async (t) => {
  const file = await storeFile(t, async (store) => {
    await store.sessions.create({ id: 'long', source: 'cli' })
    const messages = Array.from({ length: 450 }, (_, n) => ({ role: 'user', content: `no ${n}` }))
    await store.messages.appendMany('long', messages)
  })

  const { messages } = await cliJson<Shown>(['show', '--db', file, 'long'])

  assert.deepEqual(
    messages.map(({ content }) => content),
    Array.from({ length: 450 }, (_, n) => `no ${n}`),
  )
})

test('an empty session that was continued shows its continuation', async (t) => {
  const file = await storeFile(t, async (store) => {
    await store.sessions.create({ id: 'before', source: 'cli' })
    await store.sessions.end('before', 'compression')
    await store.sessions.create({ id: 'after', source: 'cli', parentSessionId: 'before' })
    await store.messages.append('after', { role: 'user', content: 'here I am' })
  })

  const { stdout } = await runCli(['show', '--db', file, 'before'])

  assert.match(stdout, /after.*continues before\n\nuser .*\nhere I am\n/s)
})

test('the beginning of several ids is refused with the ids', async (t) => {
  const file = copyMain(t)

  const { code, stdout, stderr } = await runCli(['show', '--db', file, 'CHAIN-'])

  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(
    stderr,
    /^hermes-store: "CHAIN-" is the beginning of several ids: .*chain-1 \("Project X", 2026-.*\n$/,
  )
})

test('an unknown session is refused, with titles like it', async (t) => {
  const file = copyMain(t)

  const unknown = await runCli(['show', '--db', file, 'no such thing'])
  const nearly = await runCli(['show', '--db', file, 'roject'])
  const empty = await runCli(['show', '--db', file, ''])

  assert.equal(unknown.code, 1)
  assert.equal(unknown.stderr, 'hermes-store: no session has the title or id "no such thing"\n')
  assert.equal(nearly.code, 1)
  assert.match(nearly.stderr, /similar titles: .*chain-1 \("Project X"/)
  assert.equal(empty.code, 1)
  assert.equal(empty.stderr.split('\n').length, 2)
})

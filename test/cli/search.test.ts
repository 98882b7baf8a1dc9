import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { cliJson, runCli, storeFile } from './run-cli.ts'

interface Hit {
  sessionId: string
  role: string
  snippet: string
}

function talk(t: TestContext): Promise<string> {
  return storeFile(t, async (store) => {
    await store.sessions.create({ id: 'one', source: 'cli' })
    await store.messages.append('one', { role: 'user', content: "don't forget the milk" })
    await store.messages.append('one', { role: 'assistant', content: 'the milk is noted' })
    await store.sessions.create({ id: 'two', source: 'telegram' })
    await store.messages.append('two', { role: 'user', content: '我们去大别山项目 milk' })
  })
}

test('search marks what it found and says where', async (t) => {
  const file = await talk(t)

  const { code, stdout } = await runCli(['search', 'noted', '--db', file])

  assert.equal(code, 0)
  assert.match(
    stdout,
    /^one, cli, assistant, \d{4}-\d\d-\d\d \d\d:\d\d\n {2}the milk is >>>noted<<<\n/,
  )
})

test('search takes CJK text, quotes, apostrophes and phrases', async (t) => {
  const file = await talk(t)

  for (const [words, id] of [
    [['大别山项目'], 'two'],
    [['大别'], 'two'],
    [["don't"], 'one'],
    [['"the milk is"'], 'one'],
    [['forget', 'milk'], 'one'],
    [['"unclosed noted'], undefined],
  ] as const) {
    const hits = await cliJson<Hit[]>(['search', '--db', file, ...words])

    assert.equal(hits[0]?.sessionId, id, words.join(' '))
  }
})

test('search keeps to sources and roles, orders by time, limits', async (t) => {
  const file = await talk(t)
  const search = async (...args: string[]): Promise<string[]> =>
    (await cliJson<Hit[]>(['search', 'milk', '--db', file, ...args])).map(
      (hit) => `${hit.sessionId} ${hit.role}`,
    )

  assert.deepEqual(await search('--oldest'), ['one user', 'one assistant', 'two user'])
  assert.deepEqual(await search('--newest', '--limit', '1'), ['two user'])
  assert.deepEqual(await search('--oldest', '--limit', 'all', '--offset', '2'), ['two user'])
  assert.deepEqual(await search('--source', 'telegram'), ['two user'])
  assert.deepEqual(await search('--role', 'assistant'), ['one assistant'])
  assert.equal((await search('--role', 'assistant', '--role', 'user')).length, 3)
})

test('search for what is not there says so and succeeds', async (t) => {
  const file = await talk(t)

  const { code, stdout } = await runCli(['search', 'zebra', '--db', file])

  assert.equal(code, 0)
  assert.equal(stdout, 'Nothing found.\n')
})

test('search says what it took for text, beside its answer', async (t) => {
  const file = await talk(t)

  const { code, stdout, stderr } = await runCli(['search', '"the milk', '--json', '--db', file])

  assert.equal(code, 0)
  assert.equal((JSON.parse(stdout) as Hit[]).length, 2)
  assert.match(stderr, /^hermes-store: .+\n$/)
})

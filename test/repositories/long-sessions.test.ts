import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

const LENGTH = 6_345

const contents = (word: string): string[] =>
  Array.from({ length: LENGTH }, (_, n) => `${word} ${n}`)

async function longSession(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'parent', source: 'cli' })
  await store.sessions.create({ id: 's', source: 'cli', parentSessionId: 'parent' })
  await store.messages.append('parent', { role: 'user', content: 'before all' })
  await store.messages.appendMany(
    's',
    contents('old').map((content) => ({ role: 'user', content })),
  )
  return store
}

const readers: [string, (store: Store) => Promise<unknown[]>][] = [
  ['list', (store) => store.messages.list('s')],
  ['conversation', (store) => store.messages.conversation('s')],
  [
    'the conversation with its ancestors',
    async (store) =>
      (await store.messages.conversation('s', { includeAncestors: true })).filter(
        ({ content }) => content !== 'before all',
      ),
  ],
  ['export', async (store) => (await store.exports.session('s'))?.messages ?? []],
]

for (const [what, read] of readers) {
  test(`${what} gives a long session whole, in order, and lets others go on meanwhile`, async (t) => {
    const store = await longSession(t)
    let turns = 0
    const timer = setInterval(() => (turns += 1), 0)
    t.after(() => clearInterval(timer))

    const found = await read(store)

    assert.deepEqual(found.map(contentOf), contents('old'))
    assert.ok(turns > 0)
  })

  test(`${what} mixes nothing that is replaced meanwhile into a long session`, async (t) => {
    const store = await longSession(t)

    const replaced = store.messages.replaceAll(
      's',
      contents('new').map((content) => ({ role: 'user', content })),
    )
    const all: unknown[][] = []
    const replacing = { isDone: false }
    void replaced.then(() => (replacing.isDone = true))
    while (!replacing.isDone) all.push(await read(store))
    all.push(await read(store))

    for (const found of all) {
      const word = String(contentOf(found[0])).split(' ')[0] ?? ''
      assert.deepEqual(found.map(contentOf), contents(word))
    }
    assert.equal(contentOf(all.at(-1)?.[0]), 'new 0')
  })
}

test('a limit and a place to begin hold for long lists, too, also inside a transaction', async (t) => {
  const store = await longSession(t)
  const [first] = await store.messages.list('s', { limit: 1 })

  for (const limit of [0, 1, 499, 500, 501, 1_700, -1]) {
    const options = { afterId: first!.id, limit }
    const expected = contents('old').slice(1, limit === -1 ? undefined : 1 + limit)

    assert.deepEqual((await store.messages.list('s', options)).map(contentOf), expected)
    await store.transaction(async (tx) => {
      assert.deepEqual((await tx.messages.list('s', options)).map(contentOf), expected)
    })
  }
})

function contentOf(message: unknown): unknown {
  return (message as { content?: unknown } | undefined)?.content
}

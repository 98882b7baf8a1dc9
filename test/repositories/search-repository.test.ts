import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'

import * as fc from 'fast-check'

import { InvalidInputError, openStore, type SearchOptions, type Store } from '../../src/index.ts'
import { copyFixture } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

/** A store in which one session said these things; their ids are 1, 2, 3 … */
async function storeSaying(t: TestContext, ...texts: unknown[]): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  for (const content of texts) await store.messages.append('s', { role: 'user', content })
  return store
}

async function idsFor(store: Store, query: string, options?: SearchOptions): Promise<number[]> {
  const hits = await store.search.messages(query, options)
  return hits.map((hit) => hit.id).sort((a, b) => a - b)
}

test('finds everyday punctuation', async (t) => {
  const store = await storeSaying(
    t,
    "please don't stop",
    'written in C# and C++',
    'see src/main.py, line 3',
    'TODO: fix the --force flag',
    'mail user@example.com now',
    'what? 50% off!',
    'a lonely … dash',
  )

  assert.deepEqual(await idsFor(store, "don't stop"), [1])
  assert.deepEqual(await idsFor(store, 'C#'), [2])
  assert.deepEqual(await idsFor(store, 'src/main.py'), [3])
  assert.deepEqual(await idsFor(store, 'main.py, line'), [3])
  assert.deepEqual(await idsFor(store, 'TODO: fix'), [4])
  assert.deepEqual(await idsFor(store, '--force'), [4])
  assert.deepEqual(await idsFor(store, 'user@example.com'), [5])
  assert.deepEqual(await idsFor(store, '50%!'), [6])
  assert.deepEqual(await idsFor(store, '...'), [])
  assert.deepEqual(await idsFor(store, '%'), [6])
})

test('operators mean what they say, also where FTS5 cannot read them', async (t) => {
  const store = await storeSaying(t, 'apple pear', 'apple plum', 'plum pear', 'nothing OR all')

  assert.deepEqual(await idsFor(store, 'apple AND NOT pear'), [2])
  assert.deepEqual(await idsFor(store, 'apple, NOT pear plum'), [1, 2])
  assert.deepEqual(await idsFor(store, 'apple pear OR OR plum'), [1, 2, 3])
  assert.deepEqual(await idsFor(store, 'apple? OR (plum! AND pear)'), [1, 2, 3])
  assert.deepEqual(await idsFor(store, 'pea* NOT plum?'), [1])
  assert.deepEqual(await idsFor(store, 'OR OR'), [4])
})

test('operators between CJK terms mean what they say', async (t) => {
  const store = await storeSaying(t, '广西和桂林', '只有广西', '大别山项目 go', '大别山项目')

  assert.deepEqual(await idsFor(store, '广西 AND 桂林'), [1])
  assert.deepEqual(await idsFor(store, '广西 NOT 桂林'), [2])
  assert.deepEqual(await idsFor(store, '广西 OR 大别'), [1, 2, 3, 4])
  assert.deepEqual(await idsFor(store, '大别山项目 AND go'), [3])
  assert.deepEqual(await idsFor(store, '大别山项目 NOT go'), [4])
  assert.deepEqual(await idsFor(store, '"大别山项目" OR "和桂林"'), [1, 3, 4])
})

test('finds a Latin word that is glued to CJK text, and no part of a word', async (t) => {
  const store = await storeSaying(
    t,
    '修改foobar模块',
    '用go写的',
    'terraform',
    'a foobarista',
    '修改FooBar2模块',
    'tool 42',
  )

  assert.deepEqual(await idsFor(store, 'foobar'), [1])
  assert.deepEqual(await idsFor(store, 'go'), [2])
  assert.deepEqual(await idsFor(store, 'terr'), [])
  assert.deepEqual(await idsFor(store, 'foobar2'), [5])
  assert.deepEqual(await idsFor(store, 'ool'), [])
})

test('finds a single character that ends a tool name or its arguments', async (t) => {
  const store = await storeSaying(t, 'nothing here')
  for (const toolName of ['工具 大', 'nginx', '🚀']) {
    await store.messages.append('s', { role: 'tool', toolName })
  }
  for (const toolCalls of ['大', ['大'], '大'.repeat(2), { 大: 1 }]) {
    await store.messages.append('s', { role: 'assistant', toolCalls })
  }

  assert.deepEqual(await idsFor(store, '大'), [2, 5, 6, 7, 8])
  assert.deepEqual(await idsFor(store, '水 OR x'), [3])
  assert.deepEqual(await idsFor(store, '🚀'), [4])
  assert.deepEqual(await idsFor(store, ']'), [6])

  // What was said later is known, too.
  await store.messages.append('s', { role: 'tool', toolName: '水' })
  assert.deepEqual(await idsFor(store, '水'), [9])
})

test('finds composed and decomposed text by either', async (t) => {
  const texts = ['서울타워 방문', 'がんばる ガラス', 'Đặng phở']
  const store = await storeSaying(t, ...texts.flatMap((text) => [text, text.normalize('NFD')]))

  for (const form of ['NFC', 'NFD']) {
    const query = (text: string) => idsFor(store, text.normalize(form))
    assert.deepEqual(await query('서'), [1, 2])
    assert.deepEqual(await query('서울타워'), [1, 2])
    assert.deepEqual(await query('が'), [3, 4])
    assert.deepEqual(await query('ガラス'), [3, 4])
    assert.deepEqual(await query('phở'), [5, 6])
  }
})

test('a page behind the last hit is empty, not another search', async (t) => {
  const store = await storeSaying(t, 'foobar', '修改foobar模块')

  assert.deepEqual(await idsFor(store, 'foobar'), [1, 2])
  assert.deepEqual(await idsFor(store, 'foobar', { offset: 1 }), [2])
  assert.deepEqual(await idsFor(store, 'foobar', { offset: 2 }), [])
  assert.deepEqual(await idsFor(store, 'foobar', { limit: 0 }), [])
})

test('gives each hit what was said before and after it in its session', async (t) => {
  const store = await storeSaying(
    t,
    'x'.repeat(300),
    'first needle',
    [{ type: 'text', text: 'look' }, { type: 'image_url' }, { type: 'text', text: 'here' }],
    'second needle',
    [{ type: 'image_url' }],
  )
  await store.sessions.create({ id: 'other', source: 'cli' })
  await store.messages.append('other', { role: 'assistant', content: 'third needle' })

  const hits = await store.search.messages('needle', { sort: 'oldest' })

  assert.deepEqual(
    hits.map((hit) => hit.context),
    [
      [
        { role: 'user', content: 'x'.repeat(200) },
        { role: 'user', content: 'first needle' },
        { role: 'user', content: 'look here' },
      ],
      [
        { role: 'user', content: 'look here' },
        { role: 'user', content: 'second needle' },
        { role: 'user', content: '[multimodal content]' },
      ],
      [{ role: 'assistant', content: 'third needle' }],
    ],
  )
})

test('reads files of newer versions', async (t) => {
  await using store = await openStore({ path: copyFixture(t, 'v25'), readonly: true })

  assert.deepEqual(await idsFor(store, 'kubernetes'), [1, 2])
  assert.deepEqual(await idsFor(store, '大别山项目'), [10])
  assert.deepEqual(await idsFor(store, '广西'), [10])
  const [call] = await store.search.messages('kubectl')
  assert.match(call?.snippet ?? '', />>>kubectl<<</)
})

test('works inside a transaction, on what the transaction wrote', async (t) => {
  const store = await storeSaying(t, 'old')

  const found = await store.transaction(async (tx) => {
    await tx.messages.append('s', { role: 'user', content: 'brand new' })
    return tx.search.messages('brand?')
  })

  assert.equal(found.length, 1)
})

test('refuses arguments of a wrong type or range', async (t) => {
  const store = await storeSaying(t, 'needle')
  const refused: [unknown, unknown?][] = [
    [42],
    [null],
    [undefined],
    [{}],
    ['needle', { sources: 'cli' }],
    ['needle', { sources: [1] }],
    ['needle', { excludeSources: {} }],
    ['needle', { roles: 'user' }],
    ['needle', { sessionIds: [null] }],
    ['needle', { limit: 1.5 }],
    ['needle', { limit: -2 }],
    ['needle', { limit: '1' }],
    ['needle', { limit: Number.NaN }],
    ['needle', { offset: -1 }],
    ['needle', { offset: 0.5 }],
    ['needle', { sort: 1 }],
    ['needle', null],
    ['x'.repeat(2 ** 20)],
    [Array.from({ length: 6000 }, (_, index) => `字${index}`).join(' ')],
    [`${'x'.repeat(60_000)}字`],
  ]

  for (const [query, options] of refused) {
    const search = store.search.messages(query as string, options as SearchOptions)
    await assert.rejects(search, InvalidInputError, JSON.stringify([query, options]).slice(0, 80))
  }
})

test('takes long filters and strange text', async (t) => {
  const store = await storeSaying(t, 'needle')
  const many = Array.from({ length: 100_000 }, (_, index) => `source-${index}`)

  assert.deepEqual(await idsFor(store, 'needle', { sources: many }), [])
  assert.deepEqual(await idsFor(store, 'needle', { sources: [...many, 'cli'] }), [1])
  assert.deepEqual(await idsFor(store, 'needle', { excludeSources: many, roles: many }), [])
  assert.deepEqual(await idsFor(store, 'needle', { sources: ['\ud800', '\0'] }), [])
  assert.deepEqual(await idsFor(store, 'needle', { sort: ' OLDEST\n' }), [1])
  assert.deepEqual(await idsFor(store, '\0'), [])
  assert.deepEqual(await idsFor(store, '\ud800'), [])
  assert.deepEqual(await idsFor(store, 'needle\0\udfff'), [1])
  assert.deepEqual(await idsFor(store, '字 '.repeat(20_000)), [])
  const manyTerms = Array.from({ length: 3000 }, (_, index) => `字${index}`)
  assert.deepEqual(await idsFor(store, [...manyTerms, 'eed'].join(' ')), [1])
  const manyWords = Array.from({ length: 3000 }, (_, index) => `w${index}`)
  assert.deepEqual(await idsFor(store, `NEAR(${manyWords.join(' ')})`), [])
})

test('no query makes it throw anything but a typed error', async (t) => {
  const store = await storeSaying(t, 'needle in 大别山项目', '广西 foobar', ['part'])
  const fragment = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.string({ unit: 'grapheme', maxLength: 3 }),
    fc.constantFrom('"', '""', '*', ' ', '(', ')', ':', '^', '+', '-', '.', '_', '\0', '\0Q0\0'),
    fc.constantFrom(' AND ', ' OR ', ' NOT ', ' or ', 'NEAR(', ', 5)', 'content:', '{content}:'),
    fc.constantFrom('needle', 'foo-bar', '广西', '大别山项目', '\ud83d', '\u3000', '\ufeff'),
  )

  await fc.assert(
    fc.asyncProperty(fc.array(fragment, { maxLength: 12 }), async (fragments) => {
      const hits = await store.search.messages(fragments.join(''))
      assert.ok(hits.length <= 3)
    }),
    { numRuns: 1000 },
  )
})

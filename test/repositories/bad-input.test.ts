import assert from 'node:assert/strict'
import test from 'node:test'

import { DatabaseError, InvalidInputError, StoreError, type Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

/** What callers without types pass. */
const STRANGE: readonly unknown[] = [
  undefined,
  null,
  '',
  'a\0b',
  '\ud800',
  'x'.repeat(100_000),
  0,
  -1,
  1.5,
  NaN,
  Infinity,
  2 ** 53,
  5n,
  true,
  [],
  [null],
  {},
  () => 1,
  Symbol('x'),
  new Date(0),
  new Map(),
  Buffer.from('x'),
  Object.create(null),
  { limit: -5 },
  { limit: '3' },
  { offset: 1.5 },
  { source: 7 },
  { id: 7, source: 'cli' },
  { role: 5 },
  { role: 'user', content: Symbol('x') },
  { role: 'user', tokenCount: '5' },
  { keepRoles: 5 },
  { window: 'a' },
  { transcriptFolder: 5 },
  { olderThanDays: 'x' },
  { inputTokens: 1.5 },
  { chatId: 5, userId: 5 },
  { signal: {} },
  { sessionIds: [7] },
  { hitsPerSession: 0.5 },
  { cursor: 'x' },
  { since: 5n },
]

type Method = (...values: readonly unknown[]) => unknown

for (const name of [
  'sessions',
  'titles',
  'lineage',
  'messages',
  'exports',
  'meta',
  'handoff',
  'telegramTopics',
  'analytics',
  'search',
] as const) {
  test(`no argument makes store.${name} fail but by a named error`, async (t) => {
    const store = await openTempStore(t)
    await store.sessions.ensure('s')

    for (const [method, call] of methodsOf(store, name)) {
      for (const value of STRANGE) {
        for (const values of [[value], ['s', value], ['s', 1, value]]) {
          const error = await failureOf(call, values)
          const isNamed = error instanceof StoreError && error.constructor !== DatabaseError
          assert.ok(error === undefined || isNamed, `${method}: ${String(error)}`)
        }
      }
    }
  })
}

test('options that are none are refused, not passed over', async (t) => {
  const store = await openTempStore(t)
  const calls: ((options: never) => unknown)[] = [
    (options) => store.sessions.ensure('s', options),
    (options) => store.sessions.list(options),
    (options) => store.sessions.recent(options),
    (options) => store.sessions.count(options),
    (options) => store.sessions.delete('s', options),
    (options) => store.sessions.prune(options),
    (options) => store.sessions.pruneGhosts(options),
    (options) => store.messages.list('s', options),
    (options) => store.messages.around('s', 1, options),
    (options) => store.messages.anchored('s', 1, options),
    (options) => store.messages.conversation('s', options),
    (options) => store.exports.all(options),
    (options) => store.analytics.usageByModel(options),
    (options) => store.search.messages('x', options),
    (options) => store.search.find('x', options),
    (options) => store.search.sessions('x', options),
    (options) => store.telegramTopics.disable('c', options),
    (options) => store.telegramTopics.listUnlinkedSessions(options),
    (options) => store.maintenance.autoPrune(options),
    (options) => store.maintenance.check(options),
    (options) => store.maintenance.rebuildIndexes(options),
    (options) => store.maintenance.backup(`${store.path}.copy`, options),
  ]

  for (const call of calls) {
    for (const options of [null, 'cli', 5, ['cli']]) {
      const refused = async (): Promise<unknown> => call(options as never)
      await assert.rejects(refused, InvalidInputError, String(call))
    }
  }
})

test('options of upkeep that are of another kind are refused before anything is done', async (t) => {
  const store = await openTempStore(t)
  const { maintenance } = store

  for (const wrong of [null, 5, 'x', {}] as never[]) {
    for (const refused of [
      maintenance.check({ signal: wrong }),
      maintenance.rebuildIndexes({ signal: wrong }),
      maintenance.rebuildIndexes({ onProgress: wrong }),
      maintenance.backup(`${store.path}.copy`, { signal: wrong }),
      maintenance.backup(`${store.path}.copy`, { overwrite: wrong }),
    ]) {
      await assert.rejects(refused, InvalidInputError)
    }
  }

  assert.deepEqual(await store.maintenance.check(), [])
})

test('takes 100,000 names in a filter', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  await store.messages.append('s', { role: 'user', content: 'a needle' })
  const many = Array.from({ length: 100_000 }, (_, index) => `name ${index}`)

  const listed = await store.sessions.list({ excludeSources: many })
  const found = await store.search.messages('needle', { excludeSources: many })
  const none = await store.search.messages('needle', { sources: many })
  const view = await store.messages.anchored('s', 1, { keepRoles: many })

  assert.deepEqual([listed.length, found.length, none.length, view.window.length], [1, 1, 0, 1])
})

function methodsOf(store: Store, name: keyof Store): [string, Method][] {
  const repository = store[name] as unknown as Record<string, Method>
  return Object.getOwnPropertyNames(Object.getPrototypeOf(repository))
    .filter((method) => method !== 'constructor')
    .map((method) => [method, (...values) => repository[method]?.(...values)])
}

/** Also of an async iterable, which fails when it is read. */
async function failureOf(call: Method, values: readonly unknown[]): Promise<unknown> {
  try {
    const result = await call(...values)
    if (result instanceof Object && Symbol.asyncIterator in result) {
      for await (const _ of result as AsyncIterable<unknown>) break
    }
    return undefined
  } catch (error) {
    return error
  }
}

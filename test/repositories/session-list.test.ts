import assert from 'node:assert/strict'
import test from 'node:test'

import type { SessionListOptions, Store } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

test('takes 100,000 sources to leave out', async (t) => {
  const { sessions } = await openTempStore(t)
  await sessions.create({ id: 'a', source: 'kept' })
  await sessions.create({ id: 'b', source: 'source 99999' })
  const excludeSources = Array.from({ length: 100_000 }, (_, index) => `source ${index}`)

  for (const orderByLastActive of [false, true]) {
    const entries = await sessions.list({ excludeSources, orderByLastActive })
    assert.deepEqual(
      entries.map(({ id }) => id),
      ['a'],
    )
  }
})

test('refuses options of the wrong kind, naming them', async (t) => {
  const { sessions } = await openTempStore(t)
  const refused: Record<string, unknown[]> = {
    limit: [1.5, -2, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 2n],
    offset: [1.5, -1, Number.NaN, '5', null],
    source: [7, {}, ['cli']],
    excludeSources: ['cli', 7, null, {}],
    includeChildren: [1, 'yes', null],
    projectCompressionTips: [0],
    orderByLastActive: ['started_at'],
    includeSystemPrompt: [1],
  }

  for (const [field, values] of Object.entries(refused)) {
    for (const value of values) {
      const options = { [field]: value } as SessionListOptions
      await assert.rejects(sessions.list(options), { field }, `${field}: ${String(value)}`)
    }
  }
  await assert.rejects(sessions.list({ excludeSources: ['a', 7] as string[] }), {
    field: 'excludeSources[1]',
  })
  for (const field of ['limit', 'offset', 'source']) {
    await assert.rejects(sessions.recent({ [field]: -1.5 }), { field })
  }
})

test('gives nothing for limit 0, all for -1, and pages in between', async (t) => {
  const store = await openTempStore(t)
  for (let index = 0; index < 25; index += 1) await store.sessions.create({ source: 'cli' })
  const ids = async (options: SessionListOptions): Promise<string[]> =>
    (await store.sessions.list(options)).map(({ id }) => id)

  for (const orderByLastActive of [false, true]) {
    const all = await ids({ limit: -1, orderByLastActive })
    assert.equal(all.length, 25)
    assert.deepEqual(await ids({ limit: 0, orderByLastActive }), [])
    assert.deepEqual(await ids({ orderByLastActive }), all.slice(0, 20))
    assert.deepEqual(await ids({ limit: 7, offset: 20, orderByLastActive }), all.slice(20))
    assert.deepEqual(await ids({ limit: -1, offset: 3, orderByLastActive }), all.slice(3))
  }
  const recent = await store.sessions.recent({ limit: -1 })
  assert.equal(recent.length, 25)
  assert.deepEqual(await store.sessions.recent({ limit: -1, offset: 5 }), recent.slice(5))
  assert.deepEqual(await store.sessions.recent({ limit: 4, offset: 5 }), recent.slice(5, 9))
})

test('puts a compressed conversation where its newest part was last active', async (t) => {
  const store = await openTempStore(t)
  const clock = tick(t)
  await store.sessions.create({ id: 'long', source: 'cli' })
  await store.sessions.end('long', 'compression')
  await store.sessions.create({ id: 'other', source: 'cli' })
  for (let index = 0; index < 120; index += 1) {
    const parent = index === 0 ? 'long' : `part ${index - 1}`
    await store.sessions.create({ id: `part ${index}`, source: 'tool', parentSessionId: parent })
    if (index < 119) await store.sessions.end(`part ${index}`, 'compression')
  }
  await store.messages.append('other', { role: 'user', content: 'in between' })
  await store.messages.append('part 119', { role: 'user', content: 'still here' })
  clock.mock.restore()

  const byActivity = await store.sessions.list({ orderByLastActive: true })
  const byStart = await store.sessions.list({ source: 'cli' })

  assert.deepEqual(byActivity.map(rootOf), ['long', 'other'])
  assert.deepEqual(byStart.map(rootOf), ['other', 'long'])
})

test('orders equal starts by the order they were written in', async (t) => {
  const store = await openTempStore(t)
  t.mock.method(Date, 'now', () => 1_770_000_000_000)
  for (const id of ['b', 'c', 'a']) await store.sessions.create({ id, source: 'cli' })

  const ids = async (options: SessionListOptions): Promise<string> =>
    (await store.sessions.list(options)).map(({ id }) => id).join('')

  assert.equal(await ids({}), 'bca')
  assert.equal(await ids({ source: 'cli' }), 'bca')
  assert.equal(await ids({ orderByLastActive: true }), 'cba')
})

test('previews bytes, structure and long text without reading past what it shows', async (t) => {
  const store = await openTempStore(t)
  const said: [string, unknown, string][] = [
    ['structured', [{ type: 'text', text: 'hi' }], ''],
    ['long', '💬'.repeat(70), `${'💬'.repeat(60)}...`],
    ['padded', `  ${'x'.repeat(61)}`, `${'x'.repeat(60)}...`],
    ['exact', 'x'.repeat(60), 'x'.repeat(60)],
    ['nul', 'before\0after', 'before'],
    ['lines', 'a\r\nb\tc', 'a  b\tc'],
  ]
  for (const [id, content] of said) {
    await store.sessions.create({ id, source: 'cli' })
    await store.messages.append(id, { role: 'user', content })
  }
  await store.sessions.create({ id: 'bytes', source: 'cli' })
  withFile(store.path, (db) => {
    db.prepare(
      `insert into messages (session_id, role, content, timestamp) values ('bytes', 'user', ?, 1)`,
    ).run(Buffer.from('b'.repeat(80)))
  })

  const previews = new Map(
    (await store.sessions.list({ limit: -1 })).map(({ id, preview }) => [id, preview]),
  )

  for (const [id, , preview] of said) assert.equal(previews.get(id), preview, id)
  assert.equal(previews.get('bytes'), `${'b'.repeat(60)}...`)
})

/** A clock that goes on one second with every look at it. */
function tick(t: test.TestContext) {
  let now = 1_770_000_000_000
  return t.mock.method(Date, 'now', () => (now += 1000))
}

function rootOf(entry: Awaited<ReturnType<Store['sessions']['list']>>[number]): string {
  return entry.lineageRootId ?? entry.id
}

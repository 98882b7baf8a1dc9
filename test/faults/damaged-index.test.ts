import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { sql } from 'kysely'

import { openStore, type Store } from '../../src/index.ts'
import { damageIndex, INDEX_DAMAGES, type SearchIndex } from '../support/damage.ts'
import { startProcess } from '../support/child.ts'
import { pythonWriter, runPython, skipWithoutPython } from '../support/python.ts'
import { openTempStore } from '../support/temp-store.ts'

async function damagedStore(
  t: TestContext,
  index: SearchIndex,
  damage = 'broken records',
): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.ensure('s', { source: 'cli' })
  await store.messages.append('s', { role: 'user', content: 'an old message' })
  damageIndex(store.path, index, INDEX_DAMAGES[damage]!)
  return store
}

function append(store: Store, content: string): Promise<number> {
  return store.messages.append('s', { role: 'user', content })
}

async function contents(store: Store): Promise<unknown[]> {
  return (await store.messages.list('s')).map(({ content }) => content)
}

for (const index of ['messages_fts', 'messages_fts_trigram'] as const) {
  for (const damage of Object.keys(INDEX_DAMAGES)) {
    test(`messages are stored although ${index} has ${damage}`, async (t) => {
      const store = await damagedStore(t, index, damage)

      await append(store, 'alone')
      await Promise.all(['in', 'a', 'batch'].map((content) => append(store, content)))

      assert.deepEqual(await contents(store), ['an old message', 'alone', 'in', 'a', 'batch'])
      assert.equal((await store.sessions.get('s')).messageCount, 5)
      await store.maintenance.rebuildIndexes()
      assert.deepEqual(await store.maintenance.check(), [])
    })
  }

  test(`check names a damaged ${index}, search answers without it, a rebuild heals both`, async (t) => {
    const store = await damagedStore(t, index)
    await append(store, 'a new message')

    const problems = await store.maintenance.check()
    const { hits, notes } = await store.search.find('message')
    const steps: number[] = []
    await store.maintenance.rebuildIndexes({ onProgress: (done) => steps.push(done) })

    assert.equal(hits.length, 2)
    assert.deepEqual(
      notes.map(({ code }) => code),
      ['index-incomplete'],
    )
    assert.ok(problems.length > 0)
    assert.ok(problems.every(({ kind }) => kind === 'index'))
    assert.ok(problems.some(({ name }) => name === index))
    assert.deepEqual(steps, [2, 4])
    assert.deepEqual(await store.maintenance.check(), [])
    assert.equal((await store.search.messages('message')).length, 2)
    await append(store, 'one more message')
    assert.equal((await store.search.messages('message')).length, 3)
  })

  test(`the agent can write again, and opening anew heals ${index}`, async (t) => {
    const skip = skipWithoutPython()
    if (skip) return t.skip(skip)
    const store = await damagedStore(t, index)
    await append(store, 'a new message')

    await runPython(pythonWriter, [store.path, 's', '2'])
    await using reopened = await openStore({ path: store.path })

    assert.equal((await reopened.messages.list('s')).length, 4)
    assert.deepEqual(await reopened.maintenance.check(), [])
    assert.equal((await reopened.search.messages('python')).length, 2)
  })
}

for (const damage of Object.keys(INDEX_DAMAGES)) {
  test(`messages are stored, changed and deleted although both indexes have ${damage}`, async (t) => {
    const store = await damagedStore(t, 'messages_fts', damage)
    damageIndex(store.path, 'messages_fts_trigram', INDEX_DAMAGES[damage]!)

    await append(store, 'alone')
    await Promise.all(['in', 'a', 'batch'].map((content) => append(store, content)))
    await append(store, 'a long text '.repeat(10_000))
    await store.messages.replaceAll('s', [{ role: 'user', content: 'the only one' }])

    assert.deepEqual(await contents(store), ['the only one'])
    await store.maintenance.rebuildIndexes()
    assert.deepEqual(await store.maintenance.check(), [])
  })
}

test('in a big file a delete does not wait until a damaged index is built anew', async (t) => {
  const store = await openTempStore(t)
  for (const id of ['s', 'other']) await store.sessions.create({ id, source: 'cli' })
  const content = 'needle'
  await store.messages.appendMany(
    'other',
    Array.from({ length: 3000 }, () => ({ role: 'user', content })),
  )
  await append(store, 'needle of s')
  damageIndex(store.path, 'messages_fts_trigram', INDEX_DAMAGES['no records']!)

  assert.equal(await store.sessions.delete('s'), true)

  const { hits, notes } = await store.search.find('needle', { limit: -1 })
  assert.equal(hits.length, 3000)
  assert.equal(notes[0]?.code, 'index-incomplete')
  await store.maintenance.rebuildIndexes()
  assert.deepEqual(await store.maintenance.check(), [])
})

test('a write that fails for a reason of its own leaves a whole index alone', async (t) => {
  const store = await openTempStore(t)

  await assert.rejects(append(store, 'nowhere'), { code: 'SESSION_NOT_FOUND' })

  assert.deepEqual(await store.maintenance.check(), [])
})

test('messages added, changed and deleted while an index is rebuilt are in it once', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s', { source: 'cli' })
  await store.sessions.ensure('other', { source: 'cli' })
  await store.messages.appendMany(
    's',
    Array.from({ length: 400 }, (_, n) => ({ role: 'user', content: `needle ${n}` })),
  )
  await store.messages.append('other', { role: 'user', content: 'needle to be deleted' })
  let changes: Promise<unknown> | undefined

  await store.maintenance.rebuildIndexes({
    onProgress: () => {
      changes ??= Promise.all([
        append(store, 'needle added'),
        store.messages.clear('other'),
        store.transaction(async ({ db }) => {
          await sql`update messages set content = 'needle changed' where id = 1`.execute(db)
        }),
      ])
    },
  })
  await changes

  assert.deepEqual(await store.maintenance.check(), [])
  assert.equal((await store.search.messages('needle', { limit: -1 })).length, 401)
  assert.equal((await store.search.messages('changed')).length, 1)
})

test('a rebuild that was stopped is known to be incomplete until it is done again', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s', { source: 'cli' })
  for (let n = 0; n < 200; n += 1) await append(store, `needle ${n}`)
  const stop = new AbortController()

  const rebuild = store.maintenance.rebuildIndexes({
    signal: stop.signal,
    onProgress: () => stop.abort(),
  })

  await assert.rejects(rebuild, { name: 'AbortError' })
  await append(store, 'needle added')
  const { hits, notes } = await store.search.find('needle', { limit: -1 })
  assert.equal(hits.length, 201)
  assert.equal(notes[0]?.code, 'index-incomplete')
  assert.notDeepEqual(await store.maintenance.check(), [])
  await store.maintenance.rebuildIndexes()
  assert.equal((await store.search.messages('needle', { limit: -1 })).length, 201)
})

test('a rebuild that was killed is carried on, not begun anew, and opening does not wait for it', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s', { source: 'cli' })
  for (let n = 1; n <= 300; n += 1) await append(store, `needle ${n}`)
  const script = `import { openStore } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
     const store = await openStore({ path: process.argv.at(-1) })
     await store.maintenance.rebuildIndexes({ onProgress: () => process.kill(process.pid, 'SIGKILL') })`
  const args = ['--input-type=module', '--eval', script, store.path]
  await using child = startProcess(process.execPath, args)
  await child.exited

  await using reopened = await openStore({ path: store.path })
  const before = await reopened.search.find('needle', { limit: -1 })
  const steps: number[] = []
  await reopened.maintenance.rebuildIndexes({ onProgress: (done) => steps.push(done) })

  assert.equal(before.hits.length, 300)
  assert.equal(before.notes[0]?.code, 'index-incomplete')
  assert.ok((steps[0] ?? 0) > 50, String(steps[0]))
  assert.equal(steps.at(-1), 600)
  assert.deepEqual(await reopened.maintenance.check(), [])
  assert.deepEqual((await reopened.search.find('needle')).notes, [])
})

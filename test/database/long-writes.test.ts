import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'

import {
  DatabaseBusyError,
  FileMovedError,
  InvalidInputError,
  openStore,
  SessionNotFoundError,
  StorageFullError,
  StoreClosedError,
  TransactionMisuseError,
  type Store,
} from '../../src/index.ts'
import { startNode } from '../support/child.ts'
import { damageIndex, INDEX_DAMAGES } from '../support/damage.ts'
import { openTempStore } from '../support/temp-store.ts'
import { startedWorkers } from '../support/worker-threads.ts'

const LONG = 'words of a long text '.repeat(10_000)
const child = path.join(import.meta.dirname, '../support/long-write-child.ts')

async function openWithSession(t: TestContext): Promise<Store> {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  return store
}

function append(store: Store, content: string): Promise<number> {
  return store.messages.append('s', { role: 'user', content })
}

function textOf(content: unknown): string {
  assert.ok(typeof content === 'string')
  return content
}

async function beginnings(store: Store): Promise<string[]> {
  return (await store.messages.list('s')).map(({ content }) => textOf(content).slice(0, 5))
}

test('a long text leaves the event loop free, a short one starts no thread', async (t) => {
  const workers = startedWorkers(t)
  const store = await openWithSession(t)
  await append(store, 'short')
  const before = workers.length
  const storing = new AbortController()
  let turns = 0

  const counting = (async () => {
    for (; !storing.signal.aborted; turns += 1) await nextTurn()
  })()
  await append(store, LONG)
  storing.abort()
  await counting
  await append(store, LONG)

  assert.equal(before, 0)
  assert.equal(workers.length, 1)
  assert.ok(turns > 10, `${turns} turns`)
  assert.equal((await store.sessions.get('s')).messageCount, 3)
})

test('long and short writes are stored in the order they were asked for', async (t) => {
  const store = await openWithSession(t)
  const texts = Array.from({ length: 12 }, (_, n) => `${n} ${n % 3 === 1 ? LONG : ''}`)

  const ids = await Promise.all(texts.map((text) => append(store, text)))

  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  const stored = (await store.messages.list('s')).map(({ content }) => content)
  assert.deepEqual(stored, texts)
})

test('what is long is the same afterwards as what is stored bit by bit', async (t) => {
  const store = await openWithSession(t)
  await store.sessions.create({ id: 'bits', source: 'cli' })
  const messages = Array.from({ length: 130 }, (_, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: n % 5 ? `${n} ${'text '.repeat(200)}` : [{ type: 'text', text: `${n} parts` }],
    toolCalls: n % 7 ? undefined : [{ id: `${n}` }, { id: 'x' }],
    tokenCount: n,
  }))

  const ids = await store.messages.appendMany('s', messages)
  for (const message of messages) await store.messages.append('bits', message)

  const plain = async (id: string) =>
    (await store.messages.list(id)).map((row) => ({ ...row, id: 0, sessionId: '', timestamp: 0 }))
  assert.deepEqual(await plain('s'), await plain('bits'))
  assert.deepEqual(
    ids,
    (await store.messages.list('s')).map(({ id }) => id),
  )
  const [long, bits] = [await store.sessions.get('s'), await store.sessions.get('bits')]
  assert.equal(long.messageCount, bits.messageCount)
  assert.equal(long.toolCallCount, bits.toolCallCount)
  assert.deepEqual(await store.maintenance.check(), [])
})

test('errors keep their class on the way from the thread', async (t) => {
  const store = await openWithSession(t)

  await assert.rejects(
    store.messages.append('nobody', { role: 'user', content: LONG }),
    (error: unknown) => error instanceof SessionNotFoundError && /nobody/.test(error.message),
  )
  await assert.rejects(
    store.transaction((tx) => tx.sessions.get('nobody'), { long: true }),
    SessionNotFoundError,
  )
  await assert.rejects(
    store.transaction((tx) => sql`nonsense`.execute(tx.db), { long: true }),
    { code: 'DATABASE' },
  )

  await append(store, LONG)
  assert.equal(await store.messages.count('s'), 1)
})

test('replacing, clearing and deleting a long session leaves nothing of it', async (t) => {
  const store = await openWithSession(t)
  const many = Array.from({ length: 300 }, (_, n) => ({
    role: 'user',
    content: `${n} ${LONG.slice(0, 500)}`,
  }))
  await store.messages.appendMany('s', many)

  const ids = await store.messages.replaceAll('s', many.slice(0, 250))
  const replaced = await store.messages.count('s')
  await store.messages.clear('s')
  const cleared = await store.sessions.get('s')
  await store.messages.appendMany('s', many)
  const deleted = await store.sessions.delete('s')

  assert.equal(ids.length, 250)
  assert.equal(replaced, 250)
  assert.equal(cleared.messageCount, 0)
  assert.ok(deleted)
  assert.equal(await store.messages.count(), 0)
  assert.deepEqual(await store.search.messages('words'), [])
  assert.deepEqual(await store.maintenance.check(), [])
})

test('a long transaction is stored as a whole, or not at all', async (t) => {
  const store = await openWithSession(t)

  const id = await store.transaction(
    async (tx) => {
      await tx.sessions.create({ id: 'other', source: 'cli' })
      const lost = tx.messages.append('nobody', { role: 'user', content: LONG })
      await assert.rejects(lost, SessionNotFoundError)
      return tx.messages.append('other', { role: 'user', content: LONG })
    },
    { long: true },
  )
  const failure = new Error('changed my mind')
  const failed = store.transaction(
    async (tx) => {
      await tx.messages.append('s', { role: 'user', content: LONG })
      throw failure
    },
    { long: true },
  )

  await assert.rejects(failed, failure)
  assert.equal((await store.messages.list('other'))[0]?.id, id)
  assert.equal(await store.messages.count('s'), 0)
})

test('a long transaction refuses what any other refuses', async (t) => {
  const store = await openWithSession(t)
  const refused = { name: 'TransactionMisuseError' }
  let late: () => Promise<unknown> = () => Promise.reject(new Error('never called'))

  await assert.rejects(
    store.transaction(() => append(store, 'outside'), { long: true }),
    refused,
  )
  await assert.rejects(
    store.transaction(
      async (tx) => {
        await sql`commit`.execute(tx.db)
        await tx.messages.append('s', { role: 'user', content: 'alone' })
      },
      { long: true },
    ),
    refused,
  )
  await store.transaction(
    async (tx) => {
      late = () => tx.messages.append('s', { role: 'user', content: 'late' })
    },
    { long: true },
  )
  await assert.rejects(late(), TransactionMisuseError)
  await assert.rejects(
    store.transaction(async () => {}, { long: 'yes' as unknown as boolean }),
    InvalidInputError,
  )

  assert.equal(await store.messages.count(), 0)
  await append(store, LONG)
})

test('a long write waits for a lock, and says so when it was in vain', async (t) => {
  const store = await openWithSession(t)
  await append(store, LONG)
  await using hasty = await openStore({ path: store.path, retry: { retries: 1, maxMs: 5 } })

  const other = new SqliteDatabase(store.path)
  t.after(() => other.close())
  other.exec('begin immediate')
  await assert.rejects(append(hasty, LONG), DatabaseBusyError)
  const waiting = append(store, LONG)
  await sleep(100)
  other.exec('commit')
  await waiting

  assert.equal(await store.messages.count('s'), 2)
  assert.ok(store.stats().retries > 0)
})

test('close() lets a long write end, and refuses the next', async (t) => {
  const store = await openWithSession(t)

  const stored = append(store, LONG)
  const closed = store.close()
  await assert.rejects(append(store, LONG), StoreClosedError)
  await Promise.all([stored, closed])

  assert.ok(!fs.existsSync(`${store.path}-wal`))
  await using reopened = await openStore({ path: store.path })
  assert.deepEqual(await beginnings(reopened), ['words'])
})

test('a long write whose thread dies is stored once all the same', async (t) => {
  const workers = startedWorkers(t)
  const store = await openWithSession(t)
  await append(store, LONG)
  const [thread] = workers

  const id = await store.transaction(
    async (tx) => {
      await tx.messages.append('s', { role: 'user', content: LONG })
      await thread?.terminate()
      return tx.messages.append('s', { role: 'user', content: 'the end' })
    },
    { long: true },
  )
  await append(store, LONG)

  assert.deepEqual(await beginnings(store), ['words', 'words', 'the e', 'words'])
  assert.equal((await store.messages.list('s'))[2]?.id, id)
  assert.equal(workers.length, 2)
  assert.deepEqual(await store.maintenance.check(), [])
})

test('a long text is stored although an index is damaged', async (t) => {
  const store = await openWithSession(t)
  await append(store, 'short')
  damageIndex(store.path, 'messages_fts', INDEX_DAMAGES['broken records']!)

  await Promise.all([append(store, LONG), append(store, 'after')])

  assert.deepEqual(await beginnings(store), ['short', 'words', 'after'])
  await store.maintenance.rebuildIndexes()
  assert.deepEqual(await store.maintenance.check(), [])
})

test('a long text meets the page limit of its store as a short one does', async (t) => {
  const store = await openWithSession(t)
  await append(store, LONG)
  const limitPages = (pages: number) =>
    store.transaction((tx) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(tx.db))
  await limitPages(1)

  await assert.rejects(append(store, LONG.repeat(5)), StorageFullError)
  await limitPages(1_000_000)
  await append(store, LONG)

  assert.equal(await store.messages.count('s'), 2)
})

test('a long write after the file has gone is refused, and so is all that comes', async (t) => {
  const store = await openWithSession(t)
  await append(store, LONG)
  fs.renameSync(store.path, `${store.path}.moved`)

  await assert.rejects(append(store, LONG), FileMovedError)

  await assert.rejects(append(store, 'short'), FileMovedError)
})

test('where worker threads are forbidden a long text is stored in the main thread, with one warning', async (t) => {
  const store = await openWithSession(t)

  await using running = startNode('--permission', [
    '--allow-addons',
    '--allow-fs-read=*',
    '--allow-fs-write=*',
    '--no-warnings',
    child,
    store.path,
    '1',
  ])
  const { code } = await running.exited

  assert.equal(code, 0, running.stderr)
  assert.deepEqual(JSON.parse(running.stdout), { stored: 0, workers: 0, warnings: 1 })
  assert.equal(await store.messages.count('s'), 1)
})

test('the thread does not keep the process alive', async (t) => {
  const store = await openWithSession(t)

  await using running = startNode(child, [store.path, '1'])
  const { code } = await running.exited

  assert.equal(code, 0, running.stderr)
  assert.deepEqual(JSON.parse(running.stdout), { stored: 0, workers: 1, warnings: 0 })
})

test('kill -9 among long writes loses nothing that was acknowledged', async (t) => {
  const store = await openWithSession(t)

  await using running = startNode(child, [store.path, '1000000'])
  await running.waitForOutput('"stored":4,')
  await running.kill('SIGKILL')

  const told = running.stdout.match(/stored/g)?.length ?? 0
  const stored = await store.messages.list('s')
  assert.ok(stored.length === told || stored.length === told + 1, `${stored.length} of ${told}`)
  assert.deepEqual(
    stored.map(({ content }) => Number.parseInt(textOf(content), 10)),
    stored.map((_, n) => n),
  )
  assert.deepEqual(await store.maintenance.check(), [])
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { readGolden } from '../support/golden-cases.ts'
import { assertComplete, folded, withFile } from '../support/state-file.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'

interface SchemaObject {
  type: string
  name: string
  tbl_name: string
  sql: string | null
}
interface Recorded {
  fresh: SchemaObject[]
  table_info: Record<string, unknown[][]>
  pragmas: Record<string, unknown>
  schema_version_rows: number[][]
}

const recorded = readGolden('schema') as Recorded

test('a new file has the objects of a file made by v11, and ours besides', async (t) => {
  const store = await openTempStore(t)

  withFile(store.path, (db) => {
    const objects = db
      .prepare<[], SchemaObject>(
        `select type, name, tbl_name, sql from sqlite_master
         where tbl_name not like 'store\\_%' escape '\\'
         order by type, name`,
      )
      .all()
    assert.deepEqual(objects.map(layoutFolded), recorded.fresh.map(layoutFolded))
  })
})

test('the columns of a new file stand in the order of v11', async (t) => {
  const store = await openTempStore(t)

  withFile(store.path, (db) => {
    for (const [table, columns] of Object.entries(recorded.table_info)) {
      assert.deepEqual(db.prepare(`pragma table_info(${table})`).raw().all(), columns)
    }
    assert.deepEqual(
      db.prepare('select version from schema_version').raw().all(),
      recorded.schema_version_rows,
    )
  })
})

test('a new file has the page size, encoding and journal of v11', async (t) => {
  const store = await openTempStore(t)

  withFile(store.path, (db) => {
    const inFile = ['journal_mode', 'page_size', 'encoding', 'user_version', 'application_id']
    for (const name of [...inFile, 'auto_vacuum']) {
      assert.equal(db.pragma(name, { simple: true }), recorded.pragmas[name], name)
    }
  })
})

test('every table besides those of v11 is named store_…', async (t) => {
  const store = await openTempStore(t)
  const known = new Set(recorded.fresh.map(({ name }) => name))

  const tables = withFile(store.path, (db) =>
    db.prepare<[], string>(`select name from sqlite_master where type = 'table'`).pluck().all(),
  )

  const extra = tables.filter((name) => !known.has(name))
  assert.deepEqual(
    extra.filter((name) => !name.startsWith('store_')),
    [],
  )
  assert.ok(extra.includes('store_chat_routes'))
})

test('the steps of a new file are told in order, from version 0 to 11', async (t) => {
  const events: { kind: string; name?: string }[] = []

  await using store = await openStore({
    path: path.join(tempFolder(t), 'state.db'),
    onProgress: (event) => void events.push(event),
  })

  assert.equal(store.schemaVersion, 11)
  assert.deepEqual(events[0], { kind: 'begin', fromVersion: 0, toVersion: 11 })
  assert.deepEqual(events.at(-1), { kind: 'end' })
  const steps = events
    .filter(({ kind }) => kind === 'step')
    .map(({ name }) => Number(name?.slice(0, 4)))
  assert.deepEqual(steps, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
})

test('an onProgress that throws does not stop a file from being made, and warns', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  const warned = once(process, 'warning')

  const onProgress = (): never => {
    throw new Error('the terminal has gone')
  }
  await (await openStore({ path: file, onProgress })).close()

  assert.match(String(await warned), /onProgress .*the terminal has gone/)
  assertComplete(file)
})

test('opening again changes nothing and tells nothing', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await (await openStore({ path: file })).close()
  const events: unknown[] = []

  await (await openStore({ path: file, onProgress: (event) => void events.push(event) })).close()

  assert.deepEqual(events, [])
  assertComplete(file)
})

function layoutFolded(object: SchemaObject): SchemaObject {
  return { ...object, sql: object.sql === null ? null : folded(object.sql) }
}

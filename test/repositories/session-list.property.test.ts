import test from 'node:test'
import assert from 'node:assert/strict'

import * as fc from 'fast-check'

import type { Store } from '../../src/index.ts'
import { withFile } from '../support/state-file.ts'
import { openTempStore } from '../support/temp-store.ts'

interface Row {
  id: string
  source: string
  parent: string | null
  startedAt: number
  endedAt: number | null
  reason: string | null
  said: number[]
}

const SIZE = 24
/** Few times, so that many are equal. */
const time = fc.integer({ min: 1, max: 12 })

const family: fc.Arbitrary<Row[]> = fc
  .array(
    fc.record({
      source: fc.constantFrom('cli', 'telegram'),
      parent: fc.option(fc.integer({ min: 0, max: SIZE - 1 }), { freq: 3 }),
      startedAt: time,
      endedAt: fc.option(time, { freq: 4 }),
      reason: fc.constantFrom('compression', 'compression', 'branched', 'x', null),
      said: fc.array(time, { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: SIZE },
  )
  .map((rows) =>
    rows.map((row, index) => ({
      ...row,
      id: idOf(index),
      // Any parent at all: circles too.
      parent: row.parent === null ? null : idOf(row.parent % rows.length),
    })),
  )

test('orders by activity as the plain reading of the rule does, on any family', async (t) => {
  const store = await openTempStore(t)
  const options = fc.record({
    includeChildren: fc.boolean(),
    source: fc.constantFrom('', 'telegram'),
    limit: fc.integer({ min: -1, max: 3 }),
    offset: fc.integer({ min: 0, max: 3 }),
  })

  await fc.assert(
    fc.asyncProperty(family, options, async (rows, { limit, offset, ...filter }) => {
      replaceAll(store, rows)

      const entries = await store.sessions.list({
        ...filter,
        limit,
        offset,
        orderByLastActive: true,
        projectCompressionTips: false,
      })

      const expected = byActivity(rows, filter)
      const end = limit === -1 ? undefined : offset + limit
      assert.deepEqual(
        entries.map(({ id }) => id),
        expected.slice(offset, end),
      )
    }),
    { numRuns: 150 },
  )
})

function idOf(index: number): string {
  return `s${String(index).padStart(2, '0')}`
}

function replaceAll(store: Store, rows: Row[]): void {
  withFile(store.path, (db) => {
    db.pragma('foreign_keys = off')
    db.pragma('synchronous = off')
    db.exec('begin; delete from messages; delete from sessions')
    const session = db.prepare(
      `insert into sessions (id, source, parent_session_id, started_at, ended_at, end_reason)
       values (?, ?, ?, ?, ?, ?)`,
    )
    const message = db.prepare(
      `insert into messages (session_id, role, content, timestamp) values (?, 'user', 'x', ?)`,
    )
    for (const { id, source, parent, startedAt, endedAt, reason, said } of rows) {
      session.run(id, source, parent, startedAt, endedAt, reason)
      for (const at of said) message.run(id, at)
    }
    db.exec('commit')
  })
}

function byActivity(
  rows: Row[],
  { includeChildren, source }: { includeChildren: boolean; source: string },
): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const isListed = (row: Row): boolean => {
    if (includeChildren || row.parent === null) return true
    const parent = byId.get(row.parent)
    return parent?.reason === 'branched' && parent.endedAt !== null
      ? parent.endedAt <= row.startedAt
      : false
  }
  const conversation = (first: Row): Set<Row> => {
    const parts = new Set([first])
    for (const part of parts) {
      if (part.reason !== 'compression' || part.endedAt === null) continue
      for (const row of rows) {
        if (row.parent === part.id && row.startedAt >= part.endedAt) parts.add(row)
      }
    }
    return parts
  }
  const activity = (first: Row): number =>
    Math.max(
      ...[...conversation(first)].map((row) =>
        row.said.length > 0 ? Math.max(...row.said) : row.startedAt,
      ),
    )
  return rows
    .filter((row) => isListed(row) && (source === '' || row.source === source))
    .toSorted(
      (a, b) => activity(b) - activity(a) || b.startedAt - a.startedAt || (a.id < b.id ? 1 : -1),
    )
    .map(({ id }) => id)
}

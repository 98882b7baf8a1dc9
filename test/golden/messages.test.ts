import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import type { TestContext } from 'node:test'

import type { Database as RawDatabase } from 'better-sqlite3'

import { openStore, type Store } from '../../src/index.ts'
import { toAgentRow } from '../support/agent-rows.ts'
import { readGolden } from '../support/golden-cases.ts'
import { withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

interface Replay {
  session_id: string
  get_messages: object[]
  conversation: object[]
  conversation_with_ancestors: object[]
}

interface WalkScenario {
  name: string
  rows: [
    id: string,
    parent: string | null,
    startedAt: number,
    endedAt: number | null,
    endReason: string | null,
    messages: number,
  ][]
  conversation_with_ancestors: Record<string, string[]>
}

interface ViewCall {
  call: 'get_messages_around' | 'get_anchored_view'
  args: [sessionId: string, messageId: number]
  kwargs: { window?: number; bookend?: number; keep_roles?: string[] | null }
  full?: Record<string, unknown>
}

interface Exports {
  export_session: Record<string, object | null>
  export_all_ids: string[]
  export_all_keys: string[]
  export_all_telegram_ids: string[]
}

for (const recorded of readGolden('conversation') as Replay[]) {
  test(`replays ${recorded.session_id} as the agent does`, async (t) => {
    await using store = await openRecorded(t)
    const id = recorded.session_id

    const ofItself = await store.messages.conversation(id)
    const withAncestors = await store.messages.conversation(id, { includeAncestors: true })
    const listed = await store.messages.list(id)

    assert.deepEqual(listed.map(toAgentRow), recorded.get_messages)
    assert.deepEqual(ofItself, recorded.conversation)
    assert.deepEqual(withAncestors, recorded.conversation_with_ancestors)
  })
}

test('replays the lineages of the walk scenarios as the agent does', async (t) => {
  for (const scenario of readGolden('walk_scenarios') as WalkScenario[]) {
    await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })
    withFile(store.path, (db) => addLineage(db, scenario.rows))

    for (const [id, texts] of Object.entries(scenario.conversation_with_ancestors)) {
      const chat = await store.messages.conversation(id, { includeAncestors: true })
      const contents = chat.map((message) => message.content)
      assert.deepEqual(contents, texts, `${scenario.name}: ${id}`)
    }
  }
})

test('reads stored content as the agent does', async (t) => {
  await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })
  await store.sessions.ensure('s')
  const { decode } = readGolden('content_codec') as { decode: { in: string; out: unknown }[] }
  await store.messages.appendMany(
    's',
    decode.map((recorded) => ({ role: 'tool', content: recorded.in })),
  )

  const outs = decode.map((recorded) => recorded.out)
  const listed = await store.messages.list('s')
  const chat = await store.messages.conversation('s')

  assert.deepEqual(
    listed.map((message) => message.content),
    outs,
  )
  assert.deepEqual(
    chat.map((message) => message.content),
    outs,
  )
})

test('shows the messages around an anchor that the agent shows', async (t) => {
  await using store = await openRecorded(t)

  for (const recorded of readGolden('anchored') as ViewCall[]) {
    const view = await viewOf(store, recorded)

    const { call, args, kwargs, full, ...ids } = recorded
    const label = JSON.stringify([call, args, kwargs])
    if (full) assert.deepEqual(view, full, label)
    else assert.deepEqual(idsOf(call, view), ids, label)
  }
})

test('exports what the agent exports', async (t) => {
  await using store = await openRecorded(t)
  const recorded = readGolden('export') as Exports

  const all = await collect(store.exports.all())
  const telegram = await collect(store.exports.all({ source: 'telegram' }))

  for (const [id, expected] of Object.entries(recorded.export_session)) {
    const session = await store.exports.session(id)
    const found = session && {
      ...toAgentRow(session),
      messages: session.messages.map(toAgentRow),
    }
    assert.deepEqual(found ?? null, expected, id)
  }
  assert.deepEqual(
    all.map((session) => session.id),
    recorded.export_all_ids,
  )
  assert.deepEqual(
    Object.keys(toAgentRow(all[0] ?? {})).toSorted(),
    recorded.export_all_keys.toSorted(),
  )
  assert.deepEqual(
    telegram.map((session) => session.id),
    recorded.export_all_telegram_ids,
  )
})

/** A child may come before its parent, and a circle has no beginning. */
function addLineage(db: RawDatabase, rows: WalkScenario['rows']): void {
  db.pragma('foreign_keys = OFF')
  const session = db.prepare(
    `insert into sessions (id, source, parent_session_id, started_at) values (?, 'cli', ?, ?)`,
  )
  const message = db.prepare(
    `insert into messages (session_id, role, content, timestamp) values (?, 'user', ?, ?)`,
  )
  for (const [id, parent, startedAt, , , messages] of rows) {
    session.run(id, parent, startedAt)
    for (let n = 0; n < messages; n += 1) message.run(id, `hi from ${id} ${n}`, startedAt + n / 10)
  }
}

async function openRecorded(t: TestContext): Promise<Store> {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(new URL('main.db', import.meta.url), file)
  return openStore({ path: file })
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function viewOf(
  store: Store,
  { call, args: [sessionId, messageId], kwargs }: ViewCall,
): Promise<Record<string, unknown>> {
  const { keep_roles: keepRoles, ...sizes } = kwargs
  const view =
    call === 'get_messages_around'
      ? await store.messages.around(sessionId, messageId, sizes)
      : await store.messages.anchored(sessionId, messageId, {
          ...sizes,
          ...(keepRoles !== undefined && { keepRoles }),
        })
  return Object.fromEntries(
    Object.entries(toAgentRow(view)).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((message: object) => toAgentRow(message)) : value,
    ]),
  )
}

/** The recordings name most messages by id only, and the window of the plain call `ids`. */
function idsOf(call: ViewCall['call'], view: Record<string, unknown>): object {
  return Object.fromEntries(
    Object.entries(view).map(([name, value]) => [
      name === 'window' && call === 'get_messages_around' ? 'ids' : name,
      Array.isArray(value) ? value.map((message: { id: number }) => message.id) : value,
    ]),
  )
}

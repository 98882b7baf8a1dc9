import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import { openStore, type SessionListEntry, type Store } from '../../src/index.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'
import { withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

interface RecordedWalks {
  get_compression_tip: Record<string, string>
  resolve_resume_session_id: Record<string, string>
  lineage_root_to_tip: Record<string, string[]>
}

interface RecordedCounts {
  session_count: Record<string, number>
  message_count: Record<string, number>
}

/** id, parent, start, end, end reason, number of messages */
type SessionCells = [string, string | null, number, number | null, string | null, number]
/** id, lineage root, message count, title, start, last activity, preview */
type ListCells = [string, string | null, number, string, number, number, string]

interface WalkScenario extends RecordedWalks {
  name: string
  rows: SessionCells[]
  list_sessions_rich: ListCells[]
  list_sessions_rich_by_activity: ListCells[]
}

test('walks the recorded file as the agent did', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(new URL('main.db', import.meta.url), file)
  await using store = await openStore({ path: file })
  const recorded = readGolden('walks') as RecordedWalks & RecordedCounts

  assert.deepEqual(await walk(store, recorded), walksOf(recorded))
  for (const [source, count] of Object.entries(recorded.session_count)) {
    const options = source === 'None' ? {} : { source }
    assert.equal(await store.sessions.count(options), count, source)
  }
})

test('walks and lists every family of sessions as the agent did', async (t) => {
  const scenarios = readGolden('walk_scenarios') as WalkScenario[]
  const answers = new Map<WalkScenario, unknown>()
  for (const scenario of scenarios) {
    const file = path.join(tempFolder(t), 'state.db')
    await using store = await openStore({ path: file })
    insertFamily(file, scenario.rows)
    answers.set(scenario, {
      ...(await walk(store, scenario)),
      list_sessions_rich: (await store.sessions.list()).map(toCells),
      list_sessions_rich_by_activity: (await store.sessions.list({ orderByLastActive: true })).map(
        toCells,
      ),
    })
  }

  assertGolden(
    scenarios,
    ({ name }) => name,
    (scenario) => {
      const { list_sessions_rich, list_sessions_rich_by_activity } = scenario
      const lists = { list_sessions_rich, list_sessions_rich_by_activity }
      assert.deepEqual(answers.get(scenario), { ...walksOf(scenario), ...lists })
    },
  )
})

function walksOf(recorded: RecordedWalks): RecordedWalks {
  const { get_compression_tip, resolve_resume_session_id, lineage_root_to_tip } = recorded
  return { get_compression_tip, resolve_resume_session_id, lineage_root_to_tip }
}

async function walk(store: Store, recorded: RecordedWalks): Promise<RecordedWalks> {
  const { lineage } = store
  return {
    get_compression_tip: await answer(recorded.get_compression_tip, (id) => lineage.tip(id)),
    resolve_resume_session_id: await answer(recorded.resolve_resume_session_id, (id) =>
      lineage.resumeTarget(id),
    ),
    lineage_root_to_tip: await answer(recorded.lineage_root_to_tip, (id) => lineage.ancestors(id)),
  }
}

async function answer<T>(
  questions: Record<string, T>,
  ask: (id: string) => Promise<T>,
): Promise<Record<string, T>> {
  const answers: Record<string, T> = {}
  for (const id of Object.keys(questions)) answers[id] = await ask(id)
  return answers
}

/** By plain SQL: some of them no API would make. */
function insertFamily(file: string, rows: SessionCells[]): void {
  withFile(file, (db) => {
    db.pragma('foreign_keys = off')
    const session = db.prepare(
      `insert into sessions (id, source, parent_session_id, started_at, ended_at, end_reason,
         message_count, title) values (?, 'cli', ?, ?, ?, ?, ?, ?)`,
    )
    const message = db.prepare(
      `insert into messages (session_id, role, content, timestamp) values (?, 'user', ?, ?)`,
    )
    for (const [id, parent, startedAt, endedAt, reason, messages] of rows) {
      session.run(id, parent, startedAt, endedAt, reason, messages, `t ${id}`)
      for (let index = 0; index < messages; index += 1) {
        message.run(id, `hi from ${id} ${index}`, startedAt + index / 10)
      }
    }
  })
}

function toCells(entry: SessionListEntry): ListCells {
  const { id, lineageRootId, messageCount, title, startedAt, lastActive, preview } = entry
  const root = lineageRootId ?? null
  return [id, root, messageCount ?? 0, title ?? '', startedAt, lastActive, preview]
}

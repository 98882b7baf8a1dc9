import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import type { TestContext } from 'node:test'

import { openStore } from '../../src/index.ts'
import { performAgentCall, toAgentError, type AgentCall } from '../support/agent-calls.ts'
import { withParsedJson } from '../support/parsed-rows.ts'
import { readGolden } from '../support/golden-cases.ts'
import { withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

type Dump = Record<string, object[]>

interface Scenario {
  name: string
  ops: AgentCall[]
  dump: Dump
  files_left?: string[]
}

const scenarios = readGolden('scenarios') as Scenario[]

/** Calls whose outcome differs on purpose, by scenario and place. */
const DIFFERING: Record<string, { reason: string; outcome: unknown }> = {
  'ghosts 18': {
    reason: 'a ghost that has a child is kept; the agent fails and deletes none (spec §21, 32)',
    outcome: 0,
  },
}

for (const name of ['message counters', 'delete / prune with files', 'auto prune', 'ghosts']) {
  test(`does what the agent did in the scenario "${name}"`, async (t) => {
    const scenario = scenarios.find((one) => one.name === name)
    assert.ok(scenario)
    const folder = path.join(tempFolder(t), 'sessions')
    makeTranscripts(folder)

    const file = await replay(t, name, scenario.ops, folder)

    assertDump(file, scenario.dump)
    if (scenario.files_left) {
      assert.deepEqual(readdirSync(folder).toSorted(), scenario.files_left)
    }
  })
}

test('the operations that made the recorded file make the same rows here', async (t) => {
  const file = await replay(t, 'main', readGolden('main_ops') as AgentCall[], tempFolder(t))

  assertDump(file, readGolden('main_dump') as Dump)
})

async function replay(
  t: TestContext,
  name: string,
  calls: readonly AgentCall[],
  folder: string,
): Promise<string> {
  const file = path.join(tempFolder(t), 'state.db')
  await using store = await openStore({ path: file })
  let now = 0
  t.mock.method(Date, 'now', () => now)
  for (const [place, recorded] of calls.entries()) {
    now = recorded.t * 1000
    const outcome = await performAgentCall(store, recorded, folder).catch((error: unknown) => {
      if (!recorded.error) throw error
      return toAgentError(error)
    })
    const expected = DIFFERING[`${name} ${place}`]?.outcome ?? recorded.error ?? recorded.result
    assert.deepEqual(comparable(outcome), comparable(expected), JSON.stringify(recorded))
  }
  return file
}

/** Search results are the matter of another test; here it counts what is found. */
function comparable(outcome: unknown): unknown {
  if (!Array.isArray(outcome)) return outcome
  return outcome.map((one: Record<string, unknown>) => ('snippet' in one ? one['id'] : one))
}

function assertDump(file: string, dump: Dump): void {
  for (const [table, rows] of Object.entries(dump)) {
    const columns = Object.keys(rows[0] ?? {}).join(', ') || 'count(*)'
    const stored = withFile(file, (db) =>
      db.prepare(`select ${columns} from ${table} order by rowid`).all(),
    ) as object[]
    if (rows.length === 0) assert.deepEqual(stored, [{ 'count(*)': 0 }], table)
    else assert.deepEqual(stored.map(withParsedJson), rows.map(withParsedJson), table)
  }
}

/** What lay in the agent's folder before the scenario began. */
function makeTranscripts(folder: string): void {
  mkdirSync(folder)
  const sessions = ['del-1', 'del-2', 'pr-old', 'pr-live', 'pr-new', 'pr-old-child', 'pr-tg']
  const names = sessions.flatMap((id) => [
    `${id}.json`,
    `${id}.jsonl`,
    `request_dump_${id}_1.json`,
    `request_dump_${id}_20260101_x.json`,
  ])
  const others = ['del-1.txt', 'del-10.json', 'request_dump_del-1.json', 'request_dump_del-1_a.txt']
  for (const name of [...names, ...others]) writeFileSync(path.join(folder, name), '')
}

import assert from 'node:assert/strict'
import test from 'node:test'

import type { Store } from '../../src/index.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'
import { openTempStore } from '../support/temp-store.ts'

interface TitleScenario {
  name: string
  titles: string[]
  ids: Record<string, string>
  probes: { in: string; resolve: { result: string | null }; next: { result: string } }[]
}

interface IdScenario {
  ids: string[]
  probes: { in: string; result: string | null }[]
}

test('resolves and continues titles as the agent did', async (t) => {
  const cases: { name: string; answer: object; recorded: object }[] = []
  for (const scenario of readGolden('title_lineage') as TitleScenario[]) {
    const store = await openTempStore(t)
    await createTitled(t, store, scenario)
    for (const probe of scenario.probes) {
      cases.push({
        name: `${scenario.name}: ${JSON.stringify(probe.in)}`,
        answer: {
          resolve: { result: (await store.titles.resolve(probe.in)) ?? null },
          next: { result: await store.titles.next(probe.in) },
        },
        recorded: { resolve: probe.resolve, next: probe.next },
      })
    }
  }

  assertGolden(
    cases,
    ({ name }) => name,
    ({ answer, recorded }) => assert.deepEqual(answer, recorded),
  )
})

test('resolves ids and their beginnings as the agent did', async (t) => {
  const { ids, probes } = readGolden('resolve_session_id') as IdScenario
  const store = await openTempStore(t)
  for (const id of ids) await store.sessions.create({ id, source: 'cli' })
  const answers = new Map<string, string | null>()
  for (const probe of probes) {
    answers.set(probe.in, (await store.sessions.resolveId(probe.in)) ?? null)
  }

  assertGolden(
    probes,
    (probe) => JSON.stringify(probe.in),
    (probe) => assert.equal(answers.get(probe.in), probe.result),
  )
})

/** Each started later than the one before it. */
async function createTitled(
  t: test.TestContext,
  store: Store,
  { titles, ids }: TitleScenario,
): Promise<void> {
  let now = 1_770_000_000_000
  const clock = t.mock.method(Date, 'now', () => now)
  for (const title of titles) {
    now += 1000
    const id = await store.sessions.create({ id: ids[title] ?? '', source: 'cli' })
    await store.titles.set(id, title)
  }
  clock.mock.restore()
}

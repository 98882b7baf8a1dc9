import { openStore, type Store } from '../src/index.ts'
import { hasPython, runPython } from '../test/support/python.ts'
import { pythonBenchWriter } from './python-writer.ts'
import { rawRate } from './raw-writer.ts'
import type { BenchRow, BenchSuite, SkippedRow } from './row.ts'
import { median, textOf, withTempFile } from './temp-file.ts'

const MESSAGES = 1_000
const ROUNDS = 5

interface Case {
  readonly name: string
  /** Writes this many messages in all. */
  readonly write: (store: Store, messages: number) => Promise<void>
  readonly goal: number
  /** How many of them can share a transaction. */
  readonly together: number
}

const cases: readonly Case[] = [
  {
    name: 'append, one at a time',
    write: (store, all) => append(store, all, 1),
    goal: 1 / 1.15,
    together: 1,
  },
  {
    name: 'append, 16 in flight',
    write: (store, all) => append(store, all, 16),
    goal: 3.5,
    together: 16,
  },
  {
    name: 'append, 64 in flight',
    write: (store, all) => append(store, all, 64),
    goal: 3.5,
    together: 64,
  },
  { name: 'appendMany(1000)', write: appendMany, goal: 5, together: 1000 },
]

/** Messages a second; each against one transaction a message, of the raw driver and of Python. */
export const writes: BenchSuite = {
  name: 'writes',
  async *rows(): AsyncIterable<BenchRow | SkippedRow> {
    for (const { name, write, goal, together } of cases) {
      const rounds = await inTurns(write, together)
      const ours = median(rounds.map((round) => round.ours))
      yield {
        name,
        ours,
        unit: '/s',
        against: { name: 'raw driver', value: median(rounds.map(({ raw }) => raw)) },
        goal: { atLeast: Number(goal.toPrecision(3)) },
      }
      if (together === 1) continue
      // Shows how much of the ratio above the disk allows at all.
      const value = median(rounds.map(({ rawTogether }) => rawTogether))
      yield { name, ours, unit: '/s', against: { name: `raw, ${together} at a time`, value } }
    }
    if (!hasPython()) {
      yield { name: 'append, one at a time', skipped: 'needs python3 with the sqlite3 module' }
      return
    }
    yield {
      name: 'append, one at a time',
      ours: await rateOf((store, all) => append(store, all, 1)),
      unit: '/s',
      against: { name: 'Python', value: await withTempFile(pythonRate) },
    }
  },
}

/** Messages a second. */
interface Round {
  readonly ours: number
  readonly raw: number
  readonly rawTogether: number
}

/** All in turns, so that what else the machine does hits all. */
async function inTurns(write: Case['write'], together: number): Promise<Round[]> {
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({
      ours: await rateOf(write),
      raw: await withTempFile(async (file) => rawRate(file, MESSAGES)),
      rawTogether: await withTempFile(async (file) => rawRate(file, MESSAGES, together)),
    })
  }
  return rounds
}

function rateOf(write: Case['write']): Promise<number> {
  return withTempFile(async (file) => {
    await using store = await openStore({ path: file })
    const startedAt = performance.now()
    await write(store, MESSAGES)
    return (MESSAGES * 1000) / (performance.now() - startedAt)
  })
}

async function append(store: Store, messages: number, inFlight: number): Promise<void> {
  let next = 0
  const writeAll = async (): Promise<void> => {
    while (next < messages) {
      await store.messages.append('s', { role: 'user', content: textOf((next += 1)) })
    }
  }
  await Promise.all(Array.from({ length: inFlight }, writeAll))
}

async function appendMany(store: Store, messages: number): Promise<void> {
  await store.messages.appendMany(
    's',
    Array.from({ length: messages }, (_, n) => ({ role: 'user', content: textOf(n) })),
  )
}

async function pythonRate(file: string): Promise<number> {
  const output = await runPython(pythonBenchWriter, [file, 's', String(MESSAGES)])
  return MESSAGES / (JSON.parse(output) as { seconds: number }).seconds
}

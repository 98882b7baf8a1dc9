import path from 'node:path'

import { openStore } from '../src/index.ts'
import { startNode, type RunningProcess } from '../test/support/child.ts'
import { hasPython, jsonLines, startPython } from '../test/support/python.ts'
import type { ContentionReport } from './contention-child.ts'
import { pythonBenchWriter, pythonLockHolder } from './python-writer.ts'
import type { BenchRow, BenchSuite, SkippedRow } from './row.ts'
import { percentile, withTempFile } from './temp-file.ts'

const MESSAGES = 500
const child = path.join(import.meta.dirname, 'contention-child.ts')

type Kind = 'store' | 'chats' | 'driver' | 'python'

const titles = {
  store: 'half ours, one write at a time',
  chats: 'half ours, 16 chats at once',
  driver: 'half driver timeout 1 s',
}

/** Several processes on one file: what each write waits, and how the event loop fares. */
export const contention: BenchSuite = {
  name: 'contention',
  async *rows(): AsyncIterable<BenchRow | SkippedRow> {
    if (!hasPython()) {
      yield { name: 'contention', skipped: 'needs python3 with the sqlite3 module' }
      return
    }
    for (const processes of [2, 4, 8]) {
      const python = await storm(Array.from({ length: processes }, () => 'python' as const))
      for (const kind of ['store', 'chats', 'driver'] as const) {
        const mixed = await storm(
          Array.from({ length: processes }, (_, n) => (n % 2 === 0 ? kind : 'python')),
        )
        const name = `${processes} processes, ${titles[kind]}`
        yield {
          name: `${name}: throughput`,
          ours: mixed.rate,
          unit: '/s',
          against: { name: 'all Python', value: python.rate },
          ...(kind !== 'driver' && { goal: { atLeast: 1 } }),
          note: `lost ${mixed.lost} doubled ${mixed.doubled} errors ${mixed.errors}; write p50/p99/max ${mixed.latency} ms, Python's ${mixed.pythonLatency}`,
        }
        yield* loopRows(`${name}: loop delay`, mixed.lateness, false)
      }
    }
    for (const kind of ['store', 'driver'] as const) {
      const lateness = await heldLock(kind)
      const who = kind === 'store' ? 'ours' : 'driver timeout 1 s'
      yield* loopRows(`lock held 2 s at a time, ${who}: loop delay`, lateness, kind === 'store')
    }
  },
}

function* loopRows(name: string, lateness: number[], hasGoal: boolean): Iterable<BenchRow> {
  const sorted = lateness.toSorted((a, b) => a - b)
  const [p99, max] = [percentile(sorted, 0.99), percentile(sorted, 1)]
  yield { name: `${name} p99`, ours: p99, unit: 'ms', ...(hasGoal && { goal: { atMost: 10 } }) }
  yield { name: `${name} max`, ours: max, unit: 'ms', ...(hasGoal && { goal: { atMost: 50 } }) }
}

async function storm(kinds: readonly Kind[]) {
  return withTempFile(async (file) => {
    await using store = await openStore({ path: file })
    const names = kinds.map(sessionOf)
    for (const name of names) await store.sessions.ensure(name, { source: 'bench' })
    const reports = await runAll(file, kinds)
    const seconds = Math.max(...reports.map((report) => report.seconds))
    const contents = (await Promise.all(names.map((name) => store.messages.list(name))))
      .flat()
      .map((message) => (message.content as string).split(' ', 2).join(' '))
    const unique = new Set(contents)
    const of = (isPython: boolean) => reports.filter((_, n) => (kinds[n] === 'python') === isPython)
    return {
      rate: (kinds.length * MESSAGES) / seconds,
      lost: kinds.length * MESSAGES - unique.size,
      doubled: contents.length - unique.size,
      errors: reports.reduce((sum, report) => sum + report.errors, 0),
      latency: summary(of(false).flatMap((report) => report.latencies)),
      pythonLatency: summary(of(true).flatMap((report) => report.latencies)),
      lateness: of(false).flatMap((report) => report.lateness),
    }
  })
}

function sessionOf(kind: Kind, n: number): string {
  return `${kind}-${n}`
}

async function runAll(file: string, kinds: readonly Kind[]): Promise<ContentionReport[]> {
  const running = await Promise.all(
    kinds.map(async (kind, n) => {
      const args = [file, sessionOf(kind, n), String(MESSAGES)]
      if (kind === 'python')
        return startPython(`import sys; sys.stdin.readline()\n${pythonBenchWriter}`, args)
      const started = startNode(child, [...args, kind])
      await started.waitForOutput('ready', 60_000)
      return started
    }),
  )
  for (const started of running) started.write('go')
  return Promise.all(running.map(reportOf))
}

async function reportOf(running: RunningProcess): Promise<ContentionReport> {
  const { code } = await running.exited
  if (code !== 0) throw new Error(running.stderr)
  const report = jsonLines<Partial<ContentionReport>>(running.stdout.replace('ready\n', '')).at(-1)
  return { seconds: 0, latencies: [], lateness: [], errors: 0, retries: 0, ...report }
}

/** One of ours writes twenty times a second while a Python process holds the lock most of the time. */
async function heldLock(kind: 'store' | 'driver'): Promise<number[]> {
  return withTempFile(async (file) => {
    await using holder = startPython(pythonLockHolder, [file, '2000', '300'])
    await holder.waitForOutput('held')
    await using writer = startNode(child, [file, 's', '60', kind, '50'])
    await writer.waitForOutput('ready', 60_000)
    writer.write('go')
    const { lateness } = await reportOf(writer)
    return lateness
  })
}

function summary(latencies: number[]): string {
  const sorted = latencies.toSorted((a, b) => a - b)
  return [0.5, 0.99, 1].map((share) => percentile(sorted, share).toFixed(1)).join('/')
}

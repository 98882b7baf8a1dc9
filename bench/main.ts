import os from 'node:os'

import { contention } from './contention.ts'
import { gatewaySuite } from './gateway.ts'
import { listsSuite } from './lists.ts'
import { memory } from './memory.ts'
import { messages } from './messages.ts'
import type { BenchRow, BenchSuite, SkippedRow } from './row.ts'
import { searchSuite } from './search.ts'
import { writes } from './writes.ts'

/** In the order they are run. */
const suites: readonly BenchSuite[] = [
  writes,
  messages,
  listsSuite,
  searchSuite,
  gatewaySuite,
  contention,
  memory,
]

const filter = process.argv[2] ?? ''
const cpu = os.cpus()[0]?.model.trim() ?? 'unknown processor'
console.log(
  `${cpu}, ${os.cpus().length} cores, ${os.platform()} ${os.arch()}, Node ${process.versions.node}`,
)
console.log(line('row', 'ours', 'against', 'ratio', 'goal', ''))
for (const suite of suites) {
  if (!suite.name.includes(filter)) continue
  for await (const row of suite.rows()) console.log(format(row))
}

function format(row: BenchRow | SkippedRow): string {
  if ('skipped' in row) return line(row.name, 'skipped', '', '', '', row.skipped)
  const { name, ours, unit, against, goal, note = '' } = row
  const judged = against ? ours / against.value : ours
  return line(
    name,
    `${figure(ours)} ${unit}`,
    against ? `${figure(against.value)} ${unit} ${against.name}` : '',
    against ? figure(judged) : '',
    goal ? verdict(judged, goal) : '',
    note,
  )
}

function verdict(judged: number, goal: NonNullable<BenchRow['goal']>): string {
  const met = 'atLeast' in goal ? judged >= goal.atLeast : judged <= goal.atMost
  const text = 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`
  return `${text} ${met ? 'met' : 'MISSED'}`
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}

function line(...cells: readonly [string, string, string, string, string, string]): string {
  const [name, ours, against, ratio, goal, note] = cells
  return [
    name.padEnd(60),
    ours.padStart(12),
    against.padStart(34),
    ratio.padStart(7),
    goal.padStart(16),
    note,
  ].join('  ')
}

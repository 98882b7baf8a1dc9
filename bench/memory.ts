import path from 'node:path'

import { startNode } from '../test/support/child.ts'
import type { MemoryReport } from './memory-child.ts'
import type { BenchRow, BenchSuite } from './row.ts'
import { withTempFile } from './temp-file.ts'

const APPENDS = 100_000
const EXPORTED = 1_000_000
const child = path.join(import.meta.dirname, 'memory-child.ts')

/** What a process uses that appends much, or exports much. */
export const memory: BenchSuite = {
  name: 'memory',
  async *rows(): AsyncIterable<BenchRow> {
    const appended = await withTempFile((file) => run('append', file, APPENDS))
    yield {
      name: '100,000 appends: heap at the end, against after a tenth',
      ours: appended.heapLate,
      unit: 'MiB',
      against: { name: 'after 10,000', value: appended.heapEarly },
      goal: { atMost: 1.1 },
      note: `peak RSS ${appended.peakRss.toFixed(0)} MiB`,
    }
    const exported = await withTempFile(async (file) => {
      await run('fill', file, EXPORTED)
      return run('export', file, EXPORTED)
    })
    yield {
      name: 'export of 1,000,000 messages: peak RSS',
      ours: exported.peakRss,
      unit: 'MiB',
      goal: { atMost: 150 },
      note: `heap ${exported.heapEarly.toFixed(0)} MiB after a tenth, ${exported.heapLate.toFixed(0)} at the end`,
    }
  },
}

async function run(task: string, file: string, count: number): Promise<MemoryReport> {
  await using running = startNode('--expose-gc', [child, task, file, String(count)])
  const { code } = await running.exited
  if (code !== 0) throw new Error(running.stderr)
  return JSON.parse(running.stdout) as MemoryReport
}

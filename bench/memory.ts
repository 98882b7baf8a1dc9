import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'

import { startNode } from '../test/support/child.ts'
import type { MemoryReport } from './memory-child.ts'
import type { BenchRow, BenchSuite } from './row.ts'
import { withTempFile } from './temp-file.ts'

const APPENDS = 100_000
const EXPORTED = 1_000_000
const OPTIONS =
  '--ignoreConfig --skipLibCheck --module nodenext --target es2023 --types node --rewriteRelativeImportExtensions --lib es2024,esnext.disposable,esnext.iterator'
const project = path.join(import.meta.dirname, '..')

/** What a process uses that appends much, or exports much. */
export const memory: BenchSuite = {
  name: 'memory',
  async *rows(): AsyncIterable<BenchRow> {
    const appended = await withTempFile((file) => {
      const child = compiledChild(path.dirname(file))
      return run(child, 'append', file, APPENDS)
    })
    yield {
      name: '100,000 appends: heap at the end, against after a tenth',
      ours: appended.heapLate,
      unit: 'MiB',
      against: { name: 'after 10,000', value: appended.heapEarly },
      goal: { atMost: 1.1 },
      note: `peak RSS ${appended.peakRss.toFixed(0)} MiB`,
    }
    const exported = await withTempFile(async (file) => {
      const child = compiledChild(path.dirname(file))
      await run(child, 'fill', file, EXPORTED)
      return run(child, 'export', file, EXPORTED)
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

/** As it is published: Node's own reading of TypeScript takes some 50 MiB, which no user has. */
function compiledChild(folder: string): string {
  const entry = path.join(project, 'bench/memory-child.ts')
  const tsc = path.join(project, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(
    process.execPath,
    [tsc, ...OPTIONS.split(' '), '--rootDir', project, '--outDir', folder, entry],
    { encoding: 'utf8', cwd: project },
  )
  if (status !== 0) throw new Error(stdout)
  symlinkSync(path.join(project, 'node_modules'), path.join(folder, 'node_modules'))
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
  return path.join(folder, 'bench/memory-child.js')
}

async function run(
  child: string,
  task: string,
  file: string,
  count: number,
): Promise<MemoryReport> {
  await using running = startNode('--expose-gc', [child, task, file, String(count)])
  const { code } = await running.exited
  if (code !== 0) throw new Error(running.stderr)
  return JSON.parse(running.stdout) as MemoryReport
}

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { startNode } from '../support/child.ts'
import { installPacked } from '../support/packed-package.ts'
import { tempFolder } from '../support/temp-store.ts'

test('the installed package finds its worker scripts from any working directory', async (t) => {
  const folder = tempFolder(t)
  await installPacked(folder)
  const consumer = path.join(folder, 'consumer.js')
  fs.writeFileSync(
    consumer,
    `import diagnostics from 'node:diagnostics_channel'
     import { openStore } from 'hermes-session-store'
     let workers = 0
     let warnings = 0
     diagnostics.subscribe('worker_threads', () => void (workers += 1))
     await using store = await openStore({
       path: process.argv[2],
       logger: { debug() {}, info() {}, error() {}, warn: () => void (warnings += 1) },
     })
     await store.sessions.ensure('s', { source: 'cli' })
     await store.meta.set('padding', 'x'.repeat(5_000_000))
     await store.messages.append('s', { role: 'user', content: 'a needle' })
     const hits = await store.search.messages('needle')
     const problems = await store.maintenance.check()
     await store.maintenance.backup(process.argv[2] + '.copy')
     await store.maintenance.vacuum()
     console.log(JSON.stringify({ hits: hits.length, problems: problems.length, workers, warnings }))`,
  )

  await using running = startNode(consumer, [path.join(folder, 'state.db')], { cwd: '/' })
  const { code } = await running.exited

  assert.equal(code, 0, running.stderr)
  const report = JSON.parse(running.stdout) as Record<string, number>
  assert.deepEqual(report, { hits: 1, problems: 0, workers: report['workers'], warnings: 0 })
  assert.ok(report['workers']! >= 4)
})

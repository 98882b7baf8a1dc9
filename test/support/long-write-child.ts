// Stores as many long messages, says so after each, and ends without closing anything.
import diagnostics from 'node:diagnostics_channel'

import { openStore } from '../../src/index.ts'

const [file = '', messages = ''] = process.argv.slice(2)
let workers = 0
let warnings = 0
diagnostics.subscribe('worker_threads', () => void (workers += 1))
const logger = { debug() {}, info() {}, error() {}, warn: () => void (warnings += 1) }
const store = await openStore({ path: file, logger })
for (let n = 0; n < Number(messages); n += 1) {
  await store.messages.append('s', { role: 'tool', content: `${n} ${'long text '.repeat(20_000)}` })
  console.log(JSON.stringify({ stored: n, workers, warnings }))
}

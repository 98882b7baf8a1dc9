// A process that opens a store and reports in JSON lines; start it with `startOpening`.
import { once } from 'node:events'
import readline from 'node:readline'

import { openStore, StoreError } from '../../src/index.ts'
import type { OpenStoreOptions } from '../../src/index.ts'
import type { OpenReport } from './open-in-child.ts'

const [file = '', json = '{}', ...flags] = process.argv.slice(2)
const input = readline.createInterface({ input: process.stdin })
if (flags.includes('--wait')) {
  print({ kind: 'ready' })
  await once(input, 'line')
}
let warnings = 0
try {
  const store = await openStore({
    ...(JSON.parse(json) as OpenStoreOptions),
    path: file,
    onProgress: print,
    logger: { debug() {}, info() {}, error() {}, warn: () => void (warnings += 1) },
  })
  print({ kind: 'opened' })
  if (flags.includes('--hold')) await once(input, 'close')
  const version = store.schemaVersion
  await store.close()
  print({ version, warnings, maxRssKb: process.resourceUsage().maxRSS } satisfies OpenReport)
} catch (error) {
  if (!(error instanceof StoreError)) throw error
  print({ error: error.name, message: error.message } satisfies OpenReport)
}
input.close()

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

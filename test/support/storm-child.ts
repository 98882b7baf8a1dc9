// Appends messages as fast as it may, many at once, and prints a JSON line for each as it is
// acknowledged or rejected. Arguments: the file, a session, how many are in flight, and how many in
// all. SIGTERM closes the store in the middle of it.
import fs from 'node:fs'

import { openStore } from '../../src/index.ts'

export interface StormLine {
  stored?: string
  rejected?: string
  code?: string
}

const [file = '', session = '', inFlight = '16', count = '1000000'] = process.argv.slice(2)
const store = await openStore({ path: file })
const closing = new AbortController()
let next = 0

process.on('SIGTERM', () => {
  closing.abort()
  void store.close().then(() => print({ closed: true }))
})
await store.sessions.ensure(session, { source: 'storm' })
print({ ready: true })
await Promise.all(Array.from({ length: Number(inFlight) }, writeAll))
await store.close()

async function writeAll(): Promise<void> {
  while (!closing.signal.aborted && next < Number(count)) {
    const content = `${session} ${(next += 1)}`
    try {
      await store.messages.append(session, { role: 'user', content })
      print({ stored: content })
    } catch (error) {
      print({ rejected: content, code: (error as { code?: string }).code })
    }
  }
}

/** At once: what is acknowledged must be known even if the process is killed the next moment. */
function print(line: object): void {
  fs.writeSync(1, `${JSON.stringify(line)}\n`)
}

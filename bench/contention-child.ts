// One of the processes of the contention bench: writes messages one after the other, and meanwhile
// reads and watches how late a timer of 5 ms is. Arguments: file, session, count, and `store`, or
// `chats` for sixteen writes in flight, or `driver` for the driver's own waiting of 1 s. Begins when a
// line comes.
import { once } from 'node:events'
import readline from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

import { openStore } from '../src/index.ts'
import { rawWriter } from './raw-writer.ts'
import { textOf } from './temp-file.ts'

export interface ContentionReport {
  readonly seconds: number
  /** Of each write, and how late each tick of the timer was; in milliseconds. */
  readonly latencies: number[]
  readonly lateness: number[]
  readonly errors: number
  readonly retries: number
}

const TICK_MS = 5
const CHATS = 16
const [file = '', session = '', count = '0', kind = 'store', pauseMs = '0'] = process.argv.slice(2)
const store = await openStore({ path: file })
const raw = kind === 'driver' ? rawWriter(file, session, 1_000) : undefined
const input = readline.createInterface({ input: process.stdin })
console.log('ready')
await once(input, 'line')

const latencies: number[] = []
const lateness: number[] = []
let errors = 0
let due = performance.now() + TICK_MS
const timer = setInterval(() => {
  lateness.push(Math.max(0, performance.now() - due))
  due = performance.now() + TICK_MS
}, TICK_MS)
const reading = new AbortController()
const reads = readAll()
const begunAt = performance.now()
let next = 0
await Promise.all(Array.from({ length: kind === 'chats' ? CHATS : 1 }, writeAll))
const seconds = (performance.now() - begunAt) / 1000
clearInterval(timer)
reading.abort()
await reads
const { retries } = store.stats()
raw?.close()
await store.close()
input.close()
console.log(
  JSON.stringify({ seconds, latencies, lateness, errors, retries } satisfies ContentionReport),
)

async function writeAll(): Promise<void> {
  while (next < Number(count)) {
    const n = next
    next += 1
    const content = `${session} ${n} ${textOf(n)}`
    const startedAt = performance.now()
    try {
      if (raw) raw.append(content)
      else await store.messages.append(session, { role: 'user', content })
    } catch {
      errors += 1
    }
    latencies.push(performance.now() - startedAt)
    if (raw) await sleep(0)
    if (pauseMs !== '0') await sleep(Number(pauseMs))
  }
}

async function readAll(): Promise<void> {
  while (!reading.signal.aborted) {
    await store.sessions.find(session)
    await store.messages.list(session, { limit: 20 })
    await sleep(20)
  }
}

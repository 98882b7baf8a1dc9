// One task in a process of its own, so that its memory can be told: `append` 100,000 messages, `fill`
// a file with many, or `export` them. Prints what the process used, in MiB.
import { openStore } from '../src/index.ts'
import { textOf } from './temp-file.ts'

export interface MemoryReport {
  readonly peakRss: number
  /** After a tenth of the work and after all of it, garbage collected. */
  readonly heapEarly: number
  readonly heapLate: number
}

const MEBIBYTE = 1024 * 1024
const [task = '', file = '', count = '0'] = process.argv.slice(2)
const all = Number(count)
const store = await openStore({ path: file, synchronous: 'NORMAL' })
let heapEarly = 0
if (task === 'append') {
  for (let n = 0; n < all; n += 20) {
    await Promise.all(
      Array.from({ length: 20 }, (_, k) =>
        store.messages.append('s', { role: 'user', content: `message ${n + k}` }),
      ),
    )
    if (n === Math.floor(all / 10)) heapEarly = heapNow()
  }
} else if (task === 'fill') {
  for (let n = 0; n < all; n += 1_000) {
    const session = `session-${n}`
    await store.sessions.ensure(session, { source: 'bench' })
    await store.messages.appendMany(
      session,
      Array.from({ length: 1_000 }, (_, k) => ({ role: 'user', content: textOf(k).slice(0, 60) })),
    )
  }
} else {
  let messages = 0
  for await (const session of store.exports.all()) {
    messages += session.messages.length
    if (heapEarly === 0 && messages >= all / 10) heapEarly = heapNow()
  }
  if (messages < all) throw new Error(`exported ${messages} of ${all} messages`)
}
const heapLate = heapNow()
await store.close()
console.log(
  JSON.stringify({
    peakRss: process.resourceUsage().maxRSS / 1024,
    heapEarly,
    heapLate,
  } satisfies MemoryReport),
)

function heapNow(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / MEBIBYTE
}

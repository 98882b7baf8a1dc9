// npm run soak -- --minutes N: write storms of our own and of Python, killed at random, on one file.
// Prints what was acknowledged and is not there, or is there twice; ends with 1 if anything is.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { openStore, type Store } from '../src/index.ts'
import { startNode, type RunningProcess } from '../test/support/child.ts'
import { hasPython, jsonLines, pythonWriter, startPython } from '../test/support/python.ts'
import { withTempFile } from './temp-file.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '1' } } })
const storm = path.join(import.meta.dirname, '../test/support/storm-child.ts')
const end = performance.now() + Number(values.minutes) * 60_000

await withTempFile(async (file) => {
  let rounds = 0
  let acknowledged = 0
  let failures = 0
  for (; performance.now() < end; rounds += 1) {
    const writers = [0, 1, 2].map((n) => start(file, `round-${rounds}-${n}`, n === 2))
    await sleep(1_000 + Math.random() * 3_000)
    await Promise.all(
      writers.map(({ child }) => child.kill(Math.random() < 0.8 ? 'SIGKILL' : 'SIGTERM')),
    )
    await using store = await openStore({ path: file })
    for (const { session, child } of writers) {
      const written = contentsIn(child)
      acknowledged += written.length
      failures += await compare(store, session, written)
    }
    const problems = await store.maintenance.check()
    failures += problems.length
    for (const problem of problems) console.error(problem)
  }
  console.log(
    `${rounds} rounds, ${acknowledged} messages acknowledged, ${failures} lost, doubled or damaged`,
  )
  process.exitCode = failures === 0 ? 0 : 1
})

function start(file: string, session: string, asPython: boolean) {
  const child =
    asPython && hasPython()
      ? startPython(pythonWriter, [file, session, '1000000'])
      : startNode(storm, [file, session, '16'])
  return { session, child }
}

/** What a writer said was stored; its last line may have been cut off. */
function contentsIn({ stdout }: RunningProcess): string[] {
  return jsonLines<{ stored?: string; content?: string }>(
    stdout.slice(0, stdout.lastIndexOf('\n') + 1),
  ).flatMap(({ stored, content }) => stored ?? content ?? [])
}

async function compare(store: Store, session: string, written: string[]): Promise<number> {
  const stored = (await store.messages.list(session)).map(({ content }) => content)
  const unique = new Set(stored)
  const lost = written.filter((content) => !unique.has(content))
  for (const content of lost) console.error(`lost: ${content}`)
  if (unique.size < stored.length) console.error(`doubled in ${session}`)
  return lost.length + stored.length - unique.size
}

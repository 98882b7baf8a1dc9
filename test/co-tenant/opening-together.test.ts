import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import type { RunningProcess } from '../support/child.ts'
import { eventsOf, reportOf, startOpening } from '../support/open-in-child.ts'
import { jsonLines, pythonWriter, skipWithoutPython, startPython } from '../support/python.ts'
import type { PythonWrite } from '../support/python.ts'
import { assertComplete, copyFixture, withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const STEPS = 11

/** Starts that many processes and waits until each has loaded its code, so that `go` finds them equal. */
async function readyOpeners(file: string, count: number): Promise<RunningProcess[]> {
  const openers = Array.from({ length: count }, () => startOpening(file, { flags: ['--wait'] }))
  await Promise.all(openers.map((opener) => opener.waitForOutput('ready')))
  return openers
}

function go(openers: RunningProcess[]): void {
  for (const opener of openers) opener.write('go')
}

/** The steps that ran, over all processes. */
async function stepsOf(openers: RunningProcess[]): Promise<string[]> {
  for (const report of await Promise.all(openers.map(reportOf))) {
    assert.deepEqual([report.error, report.version], [undefined, 11], report.message)
  }
  return openers.flatMap((opener) =>
    eventsOf(opener).flatMap((event) => (event.kind === 'step' ? [event.name.slice(0, 4)] : [])),
  )
}

function stepsAfter(version: number): string[] {
  return Array.from({ length: STEPS - version }, (_, i) => String(version + i + 1).padStart(4, '0'))
}

test('eight processes make one new file together, each step once', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')

  const openers = await readyOpeners(file, 8)
  go(openers)

  assert.deepEqual(await stepsOf(openers), stepsAfter(0))
  assertComplete(file)
})

for (const version of [1, 8, 10]) {
  const title = `five processes upgrade a file of v${version} together while three agents write to it`
  test(title, { skip: skipWithoutPython() }, async (t) => {
    const file = copyFixture(t, `v${version}`)
    const before = withFile(file, (db) => db.prepare('select id, content from messages').all())
    const openers = await readyOpeners(file, 5)
    const agents = [1, 2, 3].map((n) => startPython(pythonWriter, [file, `agent-${n}`, '30', '10']))
    await Promise.all(agents.map((agent) => agent.waitForOutput('"id"')))

    go(openers)

    assert.deepEqual(await stepsOf(openers), stepsAfter(version))
    for (const agent of agents) {
      assert.equal((await agent.exited).code, 0, agent.stderr)
    }
    const written = agents.flatMap((agent) => jsonLines<PythonWrite>(agent.stdout))
    assert.equal(written.length, 90)
    const after = withFile(file, (db) => db.prepare('select id, content from messages').all())
    assert.deepEqual(after, [...before, ...written.toSorted((a, b) => a.id - b.id)])
    assertComplete(file)
  })
}

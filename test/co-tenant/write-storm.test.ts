import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startNode } from '../support/child.ts'
import { jsonLines, pythonWriter, skipWithoutPython, startPython } from '../support/python.ts'
import type { StormLine } from '../support/storm-child.ts'
import { tempFolder } from '../support/temp-store.ts'

const storm = path.join(import.meta.dirname, '../support/storm-child.ts')
const MESSAGES = 150

test(
  'two of our processes and two of Python write to one file: nothing lost, doubled or refused',
  { skip: skipWithoutPython() },
  async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using store = await openStore({ path: file })
    const count = String(MESSAGES)

    const ours = ['ours-1', 'ours-2'].map((name) => startNode(storm, [file, name, '8', count]))
    const python = ['py-1', 'py-2'].map((name) => startPython(pythonWriter, [file, name, count]))
    const exits = await Promise.all([...ours, ...python].map(({ exited }) => exited))

    assert.deepEqual(
      exits.map(({ code }) => code),
      [0, 0, 0, 0],
      [...ours, ...python].map(({ stderr }) => stderr).join('\n'),
    )
    for (const child of ours) {
      const lines = jsonLines<StormLine>(child.stdout)
      assert.equal(lines.filter(({ stored }) => stored).length, MESSAGES)
      assert.equal(lines.filter(({ rejected }) => rejected).length, 0)
    }
    for (const name of ['ours-1', 'ours-2', 'py-1', 'py-2']) {
      const contents = (await store.messages.list(name)).map(({ content }) => content)
      assert.equal(contents.length, MESSAGES)
      assert.equal(new Set(contents).size, MESSAGES)
      assert.equal((await store.sessions.get(name)).messageCount, MESSAGES)
    }
    assert.deepEqual(await store.maintenance.check(), [])
  },
)

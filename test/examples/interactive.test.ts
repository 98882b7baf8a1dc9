import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { runPython, skipWithoutPython } from '../support/python.ts'
import { tempFolder } from '../support/temp-store.ts'

const script = path.join(import.meta.dirname, '../../examples/gateway/main.ts')
const bash = '/bin/bash'

/**
 * Runs a program in a terminal, in the environment of `argv[1]` and no other. `argv[2]` is a list of
 * [text to wait for, keys to press then]. Prints JSON: what was shown, and the exit code.
 */
const typing = `
import json, os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execve(sys.argv[3], sys.argv[3:], json.loads(sys.argv[1]))
keys = json.loads(sys.argv[2])
shown, seen = "", 0
while True:
    while keys and keys[0][0] in shown[seen:]:
        text, pressed = keys.pop(0)
        seen += shown[seen:].index(text) + len(text)
        os.write(terminal, pressed.encode())
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece.decode("utf-8", "replace")
_, status = os.waitpid(pid, 0)
print(json.dumps({"shown": shown, "code": os.waitstatus_to_exitcode(status)}))
`

async function typeInto(
  program: string[],
  keys: [after: string, pressed: string][],
): Promise<{ shown: string; code: number }> {
  const env = JSON.stringify({ TERM: 'xterm' })
  const output = await runPython(typing, [env, JSON.stringify(keys), ...program])
  return JSON.parse(output) as { shown: string; code: number }
}

const PROMPT = 'you> '
const [CTRL_C, CTRL_D, CTRL_Z] = ['\x03', '\x04', '\x1a']

test(
  'Ctrl-D while an answer is on its way: what was typed before it is answered, then the chat ends',
  { skip: skipWithoutPython() },
  async (t) => {
    const file = path.join(tempFolder(t), 'state.db')

    const { shown, code } = await typeInto(
      [process.execPath, script, '--db', file],
      [[PROMPT, `one\rtwo\r${CTRL_D}`]],
    )

    assert.equal(code, 0, shown)
    assert.match(shown, /remember here: 1\.[^]*remember here: 3\./)
    assert.doesNotMatch(shown, /stopped/)
  },
)

for (const [name, key] of [
  ['Ctrl-C', CTRL_C],
  ['Ctrl-D', CTRL_D],
] as const) {
  test(
    `${name} at the prompt ends the chat and leaves the shell a line of its own`,
    { skip: skipWithoutPython() },
    async (t) => {
      const file = path.join(tempFolder(t), 'state.db')

      const { shown, code } = await typeInto(
        [process.execPath, script, '--db', file],
        [[PROMPT, key]],
      )

      assert.equal(code, 0, shown)
      assert.ok(shown.endsWith('\r\n'), shown)
    },
  )
}

test(
  'the chat goes on after Ctrl-Z and fg',
  { skip: skipWithoutPython() || (existsSync(bash) ? false : 'needs bash') },
  async (t) => {
    const file = path.join(tempFolder(t), 'state.db')

    const { shown, code } = await typeInto(
      // Monitor mode is job control: bash gets the terminal back, and `fg` gives it to the chat again.
      [bash, '-mc', '"$@"; fg', 'bash', process.execPath, script, '--db', file],
      [
        [PROMPT, CTRL_Z],
        [PROMPT, 'hello\r'],
        ['remember here: 1.', ''],
        [PROMPT, CTRL_D],
      ],
    )

    assert.equal(code, 0, shown)
    assert.match(shown, /remember here: 1\./)
  },
)

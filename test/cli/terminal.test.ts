import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import { runPython, skipWithoutPython } from '../support/python.ts'
import { cliJson, copyMain, mainScript, runCli, storeFile } from './run-cli.ts'

const run = promisify(execFile)

/** The texts a terminal would obey: escape sequences of both kinds, a bell, a return, reordering marks. */
const HOSTILE = 'before\x1b]0;owned\x07\x1b[2J\x9b31m\rover\u202etxt.exe\x7f\u2028after'
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/

function hostile(t: TestContext): Promise<string> {
  return storeFile(t, async (store) => {
    await store.sessions.create({ id: `id ${HOSTILE}`, source: HOSTILE, model: HOSTILE })
    await store.sessions.addUsage(`id ${HOSTILE}`, { inputTokens: 5 })
    await store.messages.append(`id ${HOSTILE}`, {
      role: 'user',
      content: `needle ${HOSTILE}\n\tsecond line`,
      toolName: HOSTILE,
      toolCalls: [{ id: HOSTILE }],
    })
    await store.sessions.end(`id ${HOSTILE}`, HOSTILE)
  })
}

test('nothing stored reaches the terminal as a command, in text or in JSON', async (t) => {
  const file = await hostile(t)

  for (const command of [
    ['info'],
    ['list'],
    ['recent'],
    ['show', 'id'],
    ['search', 'needle'],
    ['usage'],
    ['export'],
    ['show', HOSTILE],
    ['delete', 'id'],
  ]) {
    for (const json of [[], ['--json']]) {
      const { stdout, stderr } = await runCli([...json, '--db', file, ...command])

      assert.doesNotMatch(stdout + stderr, OBEYED, command.join(' '))
      if (!command.includes(HOSTILE)) assert.match(stdout + stderr, /before/, command.join(' '))
    }
  }
})

test('what is made harmless stays visible, and a transcript keeps its lines', async (t) => {
  const file = await hostile(t)

  const { stdout } = await runCli(['show', '--db', file, 'id'])

  assert.match(
    stdout,
    /\nneedle before␛\]0;owned␇␛\[2J\\u\{9b\}31m␍over\\u\{202e\}txt\.exe␡\\u\{2028\}after\n\tsecond line\n/,
  )
})

test('JSON is equal to what is stored', async (t) => {
  const file = await hostile(t)

  const { messages } = await cliJson<{ messages: { content: string }[] }>([
    'show',
    '--db',
    file,
    'id',
  ])

  assert.equal(messages[0]?.content, `needle ${HOSTILE}\n\tsecond line`)
})

test(
  'a reader that has seen enough ends the command quietly',
  { skip: existsSync('/bin/bash') ? false : 'needs bash' },
  async (t) => {
    const file = await storeFile(t, async (store) => {
      const content = 'a long text to fill the pipe '.repeat(1000)
      for (let n = 0; n < 20; n += 1) {
        await store.sessions.create({ id: `s${n}`, source: 'cli' })
        await store.messages.append(`s${n}`, { role: 'user', content })
      }
    })

    for (const command of ['export', 'list --limit all', 'search long', 'show s1']) {
      const { stdout, stderr } = await run('bash', [
        '-c',
        `"$0" "$1" ${command} --db "$2" | head -c 1 | wc -c; echo \${PIPESTATUS[0]}`,
        process.execPath,
        mainScript,
        file,
      ])

      assert.match(stdout, /^\s*1\n0\n$/, command)
      assert.equal(stderr, '', command)
    }
  },
)

test(
  'output that cannot be written is an error',
  { skip: existsSync('/dev/full') ? false : 'needs /dev/full' },
  async (t) => {
    const file = copyMain(t)

    const { stdout } = await run('sh', [
      '-c',
      '"$0" "$1" export --db "$2" 2>&1 >/dev/full; echo $?',
      process.execPath,
      mainScript,
      file,
    ])

    assert.match(stdout, /^hermes-store: cannot write the output: .*ENOSPC.*\n1\n$/)
  },
)

/** Runs a program on a terminal of `argv[1]` columns, in the environment of `argv[2]` and no other: `CI` alone takes the colours away. */
const inTerminal = `
import fcntl, json, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execve(sys.argv[3], sys.argv[3:], json.loads(sys.argv[2]))
output = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    output += piece
os.waitpid(pid, 0)
sys.stdout.buffer.write(output)
`

function runInTerminal(
  columns: number,
  env: Record<string, string>,
  command: string[],
): Promise<string> {
  const program = [process.execPath, mainScript, ...command]
  return runPython(inTerminal, [String(columns), JSON.stringify(env), ...program])
}

test(
  'on a terminal hits stand out, unless NO_COLOR is set',
  { skip: skipWithoutPython() },
  async (t) => {
    const file = copyMain(t)
    const command = ['search', 'deploy', '--db', file]

    const coloured = await runInTerminal(80, { TERM: 'xterm' }, command)
    const plain = await runInTerminal(80, { TERM: 'xterm', NO_COLOR: '1' }, command)

    assert.ok(coloured.includes('Please \x1b[1mdeploy\x1b[22m the'), coloured)
    assert.ok(plain.includes('Please >>>deploy<<< the'), plain)
    assert.ok(!plain.includes('\x1b'))
  },
)

test(
  'a table fits the terminal, wide characters counted as two columns',
  { skip: skipWithoutPython() },
  async (t) => {
    const file = await storeFile(t, async (store) => {
      await store.sessions.create({ id: 'wide', source: 'cli' })
      await store.titles.set('wide', '大别山项目的部署计划'.repeat(5))
    })

    const output = await runInTerminal(70, { TERM: 'xterm', NO_COLOR: '1' }, ['list', '--db', file])

    const line = output.split('\r\n').find((text) => text.startsWith('wide')) ?? ''
    const ideographs = line.match(/\p{Script=Han}/gu)?.length ?? 0
    assert.ok(line.endsWith('…'), line)
    assert.ok([69, 70].includes(line.length + ideographs), line)
  },
)

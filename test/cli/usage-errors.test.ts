import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { copyMain, runCli } from './run-cli.ts'

const project = path.join(import.meta.dirname, '../..')

test('wrong usage is told in one line, with exit code 2', async (t) => {
  const file = copyMain(t)
  const before = readFileSync(file)

  for (const command of [
    ['lst'],
    ['list', '--limit', 'ten'],
    ['list', '--limit', '-1'],
    ['list', '--limit', '1.5'],
    ['list', '--nonsense'],
    ['list', 'more'],
    ['search'],
    ['search', 'x', '--newest', '--oldest'],
    ['show'],
    ['rename', 'only-one'],
    ['prune', '--days', '-5'],
    ['info', '--db', 'file:state.db'],
    ['info', '--db', ''],
    ['list', '--source', ''],
    ['recent', '--source', ''],
    ['usage', '--source', ''],
    ['search', 'x', '--source', ''],
    ['search', 'x', '--role', ''],
    ['export', '--source', ''],
    ['export', '--out', ''],
    ['backup', ''],
    ['prune', '--source', '', '--yes'],
    ['prune', '--transcripts', `${file}-nowhere`, '--yes'],
    ['delete', 'ctx-1', '--transcripts', file, '--yes'],
  ]) {
    const { code, stdout, stderr } = await runCli(['--db', file, ...command])

    assert.equal(code, 2, command.join(' '))
    assert.equal(stdout, '')
    assert.match(stderr, /^hermes-store: [^\n]+\n$/, command.join(' '))
  }
  assert.ok(before.equals(readFileSync(file)))
})

test('help and version succeed; no command at all shows the help and does not', async () => {
  const { version } = JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8')) as {
    version: string
  }

  const help = await runCli(['--help'])
  const commandHelp = await runCli(['prune', '--help'])
  const asked = await runCli(['--version'])
  const nothing = await runCli([])

  assert.equal(help.code, 0)
  assert.match(help.stdout, /^Usage: hermes-store /)
  assert.equal(commandHelp.code, 0)
  assert.match(commandHelp.stdout, /--days <number>/)
  assert.deepEqual(asked, { code: 0, stdout: `${version}\n`, stderr: '' })
  assert.equal(nothing.code, 2)
  assert.match(nothing.stderr, /^Usage: hermes-store /)
})

test('an error has a stack only with --debug', async () => {
  const short = await runCli(['list', '--db', project])
  const long = await runCli(['list', '--db', project, '--debug'])

  assert.match(short.stderr, /^hermes-store: cannot open .*: it is a folder\n$/)
  assert.match(long.stderr, /CannotOpenError: .*\n {4}at /)
  assert.equal(long.code, 1)
})

test('an old Node is refused before the driver loads', async () => {
  for (const [node, needed] of [
    ['20.1.0', 'v22.14'],
    ['22.13.1', 'v22.14'],
    ['23.5.0', 'v23.6'],
  ] as const) {
    const versions = JSON.stringify({ node, napi: '9' })
    const pretend = `Object.defineProperty(process, 'versions', { value: ${versions} })`
    const preload = `data:text/javascript,${encodeURIComponent(pretend)}`

    const { code, stderr } = await runCli(['list'], {
      env: { NODE_OPTIONS: `--import=${preload}` },
    })

    assert.equal(code, 1)
    const told = `hermes-session-store needs Node.js ${needed} or newer; this is v${node}`
    assert.equal(stderr, `hermes-store: ${told}\n`)
  }
})

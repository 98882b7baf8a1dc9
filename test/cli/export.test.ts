import assert from 'node:assert/strict'
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import { openStore } from '../../src/index.ts'
import { jsonLines } from '../support/python.ts'
import { copyMain, runCli, startCli, storeFile } from './run-cli.ts'

interface Exported {
  id: string
  source: string
  messages: { role: string; content: unknown }[]
}

test('export writes what the store exports, a line for each session', async (t) => {
  const file = copyMain(t)
  await using store = await openStore({ path: file, readonly: true })
  const expected: unknown[] = []
  for await (const session of store.exports.all()) expected.push(session)

  const { code, stdout } = await runCli(['export', '--db', file])

  assert.equal(code, 0)
  assert.deepEqual(jsonLines(stdout), JSON.parse(JSON.stringify(expected)))
})

test('export takes one session, or one source', async (t) => {
  const file = copyMain(t)

  const one = await runCli(['export', '--db', file, 'Project X #2'])
  const cron = await runCli(['export', '--db', file, '--source', 'cron'])
  const both = await runCli(['export', '--db', file, 'chain-1', '--source', 'cron'])

  assert.deepEqual(
    jsonLines<Exported>(one.stdout).map(({ id }) => id),
    ['chain-2'],
  )
  assert.deepEqual(
    jsonLines<Exported>(cron.stdout).map(({ source }) => source),
    ['cron', 'cron'],
  )
  assert.equal(both.code, 2)
})

test('an exported conversation, stored again, is the same conversation', async (t) => {
  const file = copyMain(t)
  const { stdout } = await runCli(['export', '--db', file, 'chain-1'])
  const [exported] = jsonLines<Exported>(stdout)
  assert.ok(exported)

  const again = await storeFile(t, async (store) => {
    await store.sessions.create({ id: exported.id, source: exported.source })
    await store.messages.appendMany(
      exported.id,
      exported.messages.map((message) => ({
        ...message,
        ...parsed(message, ['reasoningDetails', 'codexReasoningItems', 'codexMessageItems']),
      })),
    )
  })

  await using before = await openStore({ path: file, readonly: true })
  await using after = await openStore({ path: again, readonly: true })
  assert.deepEqual(
    await after.messages.conversation('chain-1'),
    await before.messages.conversation('chain-1'),
  )
})

test('export --out makes a file for its owner only, and replaces one only when told', async (t) => {
  const file = copyMain(t)
  const out = path.join(path.dirname(file), 'all.jsonl')

  const first = await runCli(['export', '--db', file, '--out', out])

  assert.deepEqual(first, { code: 0, stdout: '', stderr: '' })
  assert.equal(statSync(out).mode & 0o777, 0o600)
  assert.equal(jsonLines(readFileSync(out, 'utf8')).length, 36)

  writeFileSync(out, 'mine')
  const refused = await runCli(['export', '--db', file, '--out', out])

  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^hermes-store: .*all\.jsonl exists; --force replaces it\n$/)
  assert.equal(readFileSync(out, 'utf8'), 'mine')

  const forced = await runCli(['export', '--db', file, '--out', out, '--force'])

  assert.equal(forced.code, 0)
  assert.equal(jsonLines(readFileSync(out, 'utf8')).length, 36)
})

test('export never replaces the database or what is no file', async (t) => {
  const file = copyMain(t)
  const link = path.join(path.dirname(file), 'link')
  symlinkSync(file, link)
  const before = readFileSync(file)

  for (const database of [file, link]) {
    for (const out of [file, link, path.dirname(file), '/dev/null']) {
      const { code, stderr } = await runCli(['export', '--db', database, '--out', out, '--force'])

      assert.equal(code, 1, out)
      assert.match(stderr, /^hermes-store: [^\n]+\n$/)
    }
    for (const suffix of ['-wal', '-shm', '-journal']) {
      const out = `${file}${suffix}`
      const { code, stderr } = await runCli(['export', '--db', database, '--out', out])

      assert.equal(code, 1, out)
      assert.match(stderr, /belongs to the database\n$/)
      assert.ok(!existsSync(out), out)
    }
  }
  assert.ok(before.equals(readFileSync(file)))
})

test('an export whose name only begins as the database does is replaced when told', async (t) => {
  const file = copyMain(t)
  const out = `${file}-all.jsonl`
  writeFileSync(out, 'old')

  const { code } = await runCli(['export', '--db', file, '--out', out, '--force'])

  assert.equal(code, 0)
  assert.equal(jsonLines(readFileSync(out, 'utf8')).length, 36)
})

test('a failed export leaves no file', async (t) => {
  const file = copyMain(t)
  const folder = path.dirname(file)

  const unknown = await runCli(['export', '--db', file, 'nobody', '--out', path.join(folder, 'x')])
  const nowhere = await runCli(['export', '--db', file, '--out', path.join(folder, 'no', 'x')])

  assert.equal(unknown.code, 1)
  assert.equal(nowhere.code, 1)
  assert.match(nowhere.stderr, /^hermes-store: cannot write .*no.x: .*\n$/)
  assert.ok(!existsSync(path.join(folder, 'x')))
})

test('an export that is interrupted leaves no file and dies of the signal', async (t) => {
  const file = await storeFile(t, async (store) => {
    const content = 'much to write '.repeat(1000)
    for (let n = 0; n < 40; n += 1) {
      await store.sessions.create({ id: `s${n}`, source: 'cli' })
      const messages = Array.from({ length: 40 }, () => ({ role: 'user', content }))
      await store.messages.appendMany(`s${n}`, messages)
    }
  })
  const folder = path.dirname(file)
  const isWriting = (): boolean => readdirSync(folder).some((name) => name.endsWith('.partial'))
  await using running = startCli(['export', '--db', file, '--out', path.join(folder, 'all')])

  const ended = running.exited.then(() => true)
  while (!isWriting() && !(await Promise.race([ended, setTimeout(1, false)]))) continue
  const exit = await running.kill('SIGINT')

  // It may have been done before the signal came.
  const left = exit.signal === null ? ['all'] : []
  assert.deepEqual(
    exit,
    left.length > 0 ? { code: 0, signal: null } : { code: null, signal: 'SIGINT' },
  )
  assert.equal(running.stderr, '')
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.startsWith('state.db')),
    left,
  )
})

function parsed(message: object, columns: readonly string[]): Record<string, unknown> {
  const values = message as Record<string, unknown>
  return Object.fromEntries(
    columns.map((column) => [
      column,
      typeof values[column] === 'string' ? JSON.parse(values[column]) : values[column],
    ]),
  )
}

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'

import { openStore } from '../../src/index.ts'
import { assertComplete, copyFixture, withFile } from '../support/state-file.ts'
import { cliJson, copyMain, runCli, storeFile } from './run-cli.ts'

function titleOf(file: string, id: string): unknown {
  return withFile(file, (db) =>
    db.prepare('select title from sessions where id = ?').pluck().get(id),
  )
}

function idsOf(file: string): unknown[] {
  return withFile(file, (db) => db.prepare('select id from sessions order by id').pluck().all())
}

/** Two ended sessions of long ago, one of them still with an open child, and one of today. */
async function oldAndNew(t: TestContext): Promise<string> {
  const file = await storeFile(t, async (store) => {
    for (const [id, source] of [
      ['old-cli', 'cli'],
      ['old-cron', 'cron'],
      ['today', 'cli'],
    ] as const) {
      await store.sessions.create({ id, source })
      await store.messages.append(id, { role: 'user', content: `I am ${id}` })
      await store.sessions.end(id, 'user_exit')
    }
    await store.sessions.create({ id: 'child', source: 'cli', parentSessionId: 'old-cli' })
  })
  withFile(file, (db) =>
    db.exec(`update sessions set started_at = started_at - 100 * 86400 where id like 'old-%'`),
  )
  return file
}

test('rename sets the tidied title, and an empty one takes it away', async (t) => {
  const file = copyMain(t)

  const renamed = await runCli(['rename', '--db', file, 'old-1', '  the \n old\x1b one '])

  assert.deepEqual(renamed, { code: 0, stdout: 'old-1 is now "the old one"\n', stderr: '' })
  assert.equal(titleOf(file, 'old-1'), 'the old one')

  assert.deepEqual(await cliJson(['rename', '--db', file, 'old-1', '']), {
    id: 'old-1',
    title: null,
  })
  assert.equal(titleOf(file, 'old-1'), null)
})

test('rename refuses a title that another session has, and one that is too long', async (t) => {
  const file = copyMain(t)

  const taken = await runCli(['rename', '--db', file, 'old-1', 'Project X'])
  const long = await runCli(['rename', '--db', file, 'old-1', 'x'.repeat(101)])

  assert.equal(taken.code, 1)
  assert.match(
    taken.stderr,
    /^hermes-store: title "Project X" is already in use by session chain-1\n$/,
  )
  assert.equal(long.code, 2)
  assert.match(long.stderr, /^hermes-store: .*101.*\n$/)
  assert.equal(titleOf(file, 'old-1'), null)
})

test('rename and delete take a title as it is, not the latest of its numbered parts', async (t) => {
  const file = copyMain(t)

  const { id } = await cliJson<{ id: string }>(['rename', '--db', file, 'Project X', 'Start'])

  assert.equal(id, 'chain-1')
})

test('delete without --yes says what it would delete and deletes nothing', async (t) => {
  const file = await oldAndNew(t)
  const before = readFileSync(file)

  const { code, stdout, stderr } = await runCli(['delete', '--db', file, 'old-cli'])

  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.match(
    stderr,
    /^hermes-store: nothing was deleted; --yes deletes old-cli, started .*, 1 message\n$/,
  )
  assert.ok(before.equals(readFileSync(file)))
})

test('delete --yes removes the session, its messages and its transcripts, and keeps its child', async (t) => {
  const file = await oldAndNew(t)
  const transcripts = path.join(path.dirname(file), 'sessions')
  mkdirSync(transcripts)
  writeFileSync(path.join(transcripts, 'old-cli.jsonl'), '{}\n')
  writeFileSync(path.join(transcripts, 'today.jsonl'), '{}\n')

  const { code, stdout } = await runCli([
    'delete',
    '--db',
    file,
    'old-cl',
    '--yes',
    '--transcripts',
    transcripts,
  ])

  assert.equal(code, 0)
  assert.match(stdout, /^Deleted old-cli, /)
  assert.deepEqual(idsOf(file), ['child', 'old-cron', 'today'])
  assert.ok(!existsSync(path.join(transcripts, 'old-cli.jsonl')))
  assert.ok(existsSync(path.join(transcripts, 'today.jsonl')))
  assertComplete(file)
})

test('delete refuses the beginning of several ids', async (t) => {
  const file = await oldAndNew(t)

  const { code, stderr } = await runCli(['delete', '--db', file, 'old', '--yes'])

  assert.equal(code, 1)
  assert.match(stderr, /several ids: .*old-c.*old-c/)
  assert.equal(idsOf(file).length, 4)
})

test('prune without --yes counts exactly what prune --yes then deletes', async (t) => {
  const file = await oldAndNew(t)

  const { code, stdout } = await runCli(['prune', '--db', file])
  const dry = await cliJson<{ sessions: number; messages: number }>(['prune', '--db', file])

  assert.equal(code, 0)
  assert.match(stdout, /^Would delete 2 ended sessions that started before .*, with 2 messages\./)
  assert.equal(idsOf(file).length, 4)

  const done = await cliJson(['prune', '--db', file, '--yes'])

  assert.equal(dry.sessions, 2)
  assert.equal(dry.messages, 2)
  assert.deepEqual(done, { dryRun: false, sessions: 2 })
  assert.deepEqual(idsOf(file), ['child', 'today'])
})

test('prune keeps to its source and its days', async (t) => {
  const file = await oldAndNew(t)

  assert.deepEqual(await cliJson(['prune', '--db', file, '--yes', '--days', '101']), {
    dryRun: false,
    sessions: 0,
  })
  const { stdout } = await runCli(['prune', '--db', file, '--yes', '--source', 'cron'])

  assert.equal(stdout, 'Deleted 1 session.\n')
  assert.deepEqual(idsOf(file), ['child', 'old-cli', 'today'])
})

test('migrate upgrades an old file, says so, and has nothing to do the second time', async (t) => {
  const file = copyFixture(t, 'v1')

  const first = await runCli(['migrate', '--db', file])
  const second = await runCli(['migrate', '--db', file])

  assert.equal(first.code, 0)
  assert.match(first.stdout, /was at version 1, is now at version 11\n$/)
  assert.match(first.stderr, /^(?:migrate: [\w ]+\n)+$/)
  assert.deepEqual(second, {
    code: 0,
    stdout: `${file} is already at version 11\n`,
    stderr: '',
  })
  assertComplete(file)
  assert.equal((await runCli(['list', '--db', file])).code, 0)
})

test('vacuum gives space back', async (t) => {
  const file = await storeFile(t, async (store) => {
    await store.sessions.create({ id: 's', source: 'cli' })
    const content = 'words that take space '.repeat(500)
    await store.messages.appendMany(
      's',
      Array.from({ length: 50 }, () => ({ role: 'user', content })),
    )
    await store.sessions.delete('s')
  })

  const sizes = await cliJson<{ bytesBefore: number; bytesAfter: number }>(['vacuum', '--db', file])

  assert.ok(sizes.bytesAfter < sizes.bytesBefore)
  await using store = await openStore({ path: file, readonly: true })
  assert.equal(await store.messages.count(), 0)
})

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'

import { openStore } from '../../src/index.ts'
import { assertComplete, copyFixture, withFile } from '../support/state-file.ts'
import { cliJson, copyMain, runCli, startCli, storeFile } from './run-cli.ts'

function threeMessages(t: TestContext): Promise<string> {
  return storeFile(t, async (store) => {
    await store.sessions.create({ id: 's', source: 'cli' })
    await store.messages.appendMany(
      's',
      ['one needle', 'two needle', 'three needle'].map((content) => ({ role: 'user', content })),
    )
  })
}

test('check finds nothing wrong with a sound file, also one the agent indexed', async (t) => {
  for (const file of [copyMain(t), copyFixture(t, 'v11')]) {
    const before = readFileSync(file)

    const { code, stdout, stderr } = await runCli(['check', '--db', file])

    assert.deepEqual(
      { code, stdout, stderr },
      { code: 0, stdout: 'No problems found.\n', stderr: '' },
    )
    assert.deepEqual(await cliJson(['check', '--db', file]), [])
    assert.ok(before.equals(readFileSync(file)))
  }
})

test('check names a damaged index, fails and says what heals it; rebuild-indexes does', async (t) => {
  const file = await threeMessages(t)
  withFile(file, (db) => db.exec('delete from messages_fts where rowid = 2'))

  const damaged = await runCli(['check', '--db', file])
  const json = await runCli(['check', '--json', '--db', file])
  const rebuilt = await runCli(['rebuild-indexes', '--db', file])
  const healed = await runCli(['check', '--db', file])

  assert.equal(damaged.code, 1)
  assert.match(damaged.stdout, /^index messages_fts: /)
  assert.match(
    damaged.stderr,
    /^hermes-store: \d+ problems? found; run `hermes-store rebuild-indexes`\n$/,
  )
  assert.equal(json.code, 1)
  assert.equal((JSON.parse(json.stdout) as { kind: string }[])[0]?.kind, 'index')
  assert.deepEqual(rebuilt, { code: 0, stdout: '3 messages can be searched.\n', stderr: '' })
  assert.equal(healed.code, 0)
  assertComplete(file)
})

test('info and check say that a rebuild was stopped; the next one finishes it', async (t) => {
  const file = await threeMessages(t)
  await using store = await openStore({ path: file })
  const stop = new AbortController()
  const stopped = store.maintenance.rebuildIndexes({
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('stopped')),
  })
  await assert.rejects(stopped, /stopped/)
  await store.close()
  // Opening leaves the rest to a call.
  await using again = await openStore({ path: file })
  await again.close()

  const info = await runCli(['info', '--db', file])
  const facts = await cliJson<Record<string, unknown>>(['info', '--db', file])
  const check = await runCli(['check', '--db', file])
  const rebuilt = await runCli(['rebuild-indexes', '--db', file])
  const later = await cliJson<Record<string, unknown>>(['info', '--db', file])

  assert.match(info.stdout, /search +complete, but slow: .*`hermes-store rebuild-indexes`/)
  assert.equal(facts['isIndexRebuildOpen'], true)
  assert.match(check.stdout, /^index messages_fts\S*: it lacks 3 messages$/m)
  assert.match(check.stderr, /run `hermes-store rebuild-indexes`\n$/)
  assert.equal(rebuilt.code, 0)
  assert.equal(later['isIndexRebuildOpen'], false)
  assertComplete(file)
})

test('a search without a whole index finds everything and says how to heal it', async (t) => {
  const file = await threeMessages(t)
  withFile(file, (db) => db.exec('delete from messages_fts where rowid = 1'))

  const { code, stdout, stderr } = await runCli(['search', 'needle', '--json', '--db', file])

  assert.equal(code, 0)
  assert.equal((JSON.parse(stdout) as unknown[]).length, 3)
  assert.match(stderr, /^hermes-store: .*index.*; run `hermes-store rebuild-indexes`\n$/)
})

test('backup makes an owner-only copy, and replaces one only when told', async (t) => {
  const file = copyMain(t)
  const copy = path.join(path.dirname(file), 'copy.db')

  const first = await runCli(['backup', copy, '--db', file])
  const again = await runCli(['backup', copy, '--db', file])
  writeFileSync(copy, 'old')
  const forced = await cliJson<{ path: string; bytes: number }>([
    'backup',
    copy,
    '--force',
    '--db',
    file,
  ])

  assert.equal(first.code, 0)
  assert.ok(first.stdout.startsWith(`${copy}, `))
  assert.equal(again.code, 1)
  assert.match(again.stderr, /^hermes-store: .*copy\.db exists; --force replaces it\n$/)
  assert.deepEqual(forced, { path: copy, bytes: statSync(copy).size })
  assert.equal(statSync(copy).mode & 0o777, 0o600)
  assert.equal(
    (await cliJson<unknown[]>(['list', '--db', copy, '--all', '--limit', 'all'])).length,
    36,
  )
})

test('backup never replaces the database itself', async (t) => {
  const file = copyMain(t)
  const before = readFileSync(file)

  const { code } = await runCli(['backup', file, '--force', '--db', file])

  assert.equal(code, 1)
  assert.ok(before.equals(readFileSync(file)))
})

test('a backup that is interrupted leaves no file and dies of the signal', async (t) => {
  const file = await storeFile(t, async (store) => {
    await store.sessions.create({ id: 's', source: 'cli' })
    const content = 'much to copy '.repeat(1000)
    const messages = Array.from({ length: 1000 }, () => ({ role: 'user', content }))
    await store.messages.appendMany('s', messages)
  })
  const folder = path.dirname(file)
  const isWriting = (): boolean => readdirSync(folder).some((name) => name.includes('.partial'))
  await using running = startCli(['backup', path.join(folder, 'copy.db'), '--db', file])

  const ended = running.exited.then(() => true)
  while (!isWriting() && !(await Promise.race([ended, setTimeout(1, false)]))) continue
  const exit = await running.kill('SIGINT')

  // It may have been done before the signal came.
  const left = exit.signal === null ? ['copy.db'] : []
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

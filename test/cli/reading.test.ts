import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { skipWithoutPython, startPython } from '../support/python.ts'
import { copyFixture } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'
import { cliJson, copyMain, runCli, storeFile } from './run-cli.ts'

interface Listed {
  id: string
  source: string
  title: string | null
}

test('info says what the file is and what is in it, and changes nothing', async (t) => {
  const file = copyMain(t)
  const before = readFileSync(file)

  const { code, stdout, stderr } = await runCli(['info', '--db', file])
  const facts = await cliJson<Record<string, unknown>>(['info', '--db', file])

  assert.equal(code, 0)
  assert.equal(stderr, '')
  assert.match(stdout, /schema +version 11\n/)
  assert.match(stdout, /sessions +36 \(28 open, 8 ended\)/)
  assert.equal(facts['path'], file)
  assert.equal(facts['bytes'], before.length)
  assert.equal(facts['state'], 'current')
  assert.deepEqual(facts['sessions'], { total: 36, open: 28, ended: 8 })
  assert.equal(facts['messages'], 85)
  assert.ok(before.equals(readFileSync(file)))
})

test('info of an empty store has counts of nothing', async (t) => {
  const file = await storeFile(t, async () => {})

  const facts = await cliJson<Record<string, unknown>>(['info', '--db', file])

  assert.deepEqual(facts['sessions'], { total: 0, open: 0, ended: 0 })
  assert.equal(facts['lastActive'], null)
})

test('the file is the one in HERMES_HOME unless --db names another', async (t) => {
  const file = copyMain(t)

  const { code, stdout } = await runCli(['info'], { env: { HERMES_HOME: path.dirname(file) } })

  assert.equal(code, 0)
  assert.ok(stdout.includes(file))
})

test('list hides children unless asked, filters by source and pages', async (t) => {
  const file = copyMain(t)
  const all = await cliJson<Listed[]>(['list', '--db', file, '--limit', 'all'])

  const withChildren = await cliJson<Listed[]>(['list', '--db', file, '--all', '--limit', 'all'])
  const cron = await cliJson<Listed[]>(['list', '--db', file, '--source', 'cron'])
  const page = await cliJson<Listed[]>(['list', '--db', file, '--limit', '2', '--offset', '1'])
  const { stdout } = await runCli(['list', '--db', file, '--limit', 'all'])

  assert.equal(withChildren.length, 36)
  assert.ok(all.length < withChildren.length)
  assert.deepEqual(new Set(cron.map(({ source }) => source)), new Set(['cron']))
  assert.deepEqual(page, all.slice(1, 3))
  assert.match(stdout, /^ID +SOURCE +MESSAGES +LAST ACTIVE +ENDED +TITLE\n/)
  for (const { id } of all) assert.ok(stdout.includes(`\n${id} `), id)
})

test('list --by-activity and recent begin with what was written to last', async (t) => {
  const file = copyMain(t)

  const list = await cliJson<Listed[]>(['list', '--db', file, '--by-activity', '--limit', '1'])
  const recent = await cliJson<Listed[]>(['recent', '--db', file, '--limit', '1'])

  assert.equal(list[0]?.id, 'old-1')
  assert.equal(recent[0]?.id, 'old-1')
})

test('an empty store lists nothing in words, and an empty list in JSON', async (t) => {
  const file = await storeFile(t, async () => {})

  const { code, stdout } = await runCli(['list', '--db', file])

  assert.equal(code, 0)
  assert.equal(stdout, 'No sessions.\n')
  assert.deepEqual(await cliJson(['list', '--db', file]), [])
})

test('usage counts tokens and money by model and names the sessions that used most', async (t) => {
  const file = await storeFile(t, async (store) => {
    await store.sessions.create({ id: 'dear', source: 'cli', model: 'hermes-4' })
    await store.sessions.addUsage('dear', { inputTokens: 1000, estimatedCostUsd: 1.25 })
    await store.sessions.create({ id: 'cheap', source: 'cli', model: 'hermes-4' })
    await store.sessions.addUsage('cheap', { outputTokens: 10, estimatedCostUsd: 0.25 })
  })

  const { code, stdout } = await runCli(['usage', '--db', file])
  const usage = await cliJson<{ models: { model: string }[]; sessions: { id: string }[] }>([
    'usage',
    '--db',
    file,
  ])

  assert.equal(code, 0)
  assert.match(stdout, /hermes-4 .*1\.50/)
  assert.deepEqual(
    usage.models.map(({ model }) => model),
    ['hermes-4'],
  )
  assert.deepEqual(
    usage.sessions.map(({ id }) => id),
    ['dear', 'cheap'],
  )
})

test('a missing file is an error and is not made', async (t) => {
  const file = path.join(tempFolder(t), 'none', 'state.db')

  for (const command of [['info'], ['list'], ['migrate'], ['rename', 'a', 'b'], ['vacuum']]) {
    const { code, stdout, stderr } = await runCli([...command, '--db', file])

    assert.equal(code, 1, command.join(' '))
    assert.equal(stdout, '')
    assert.match(stderr, /^hermes-store: cannot open .*: there is no such file\n$/)
    assert.ok(!existsSync(path.dirname(file)))
  }
})

test('a file that is no database is left as it is', async () => {
  const { code, stderr } = await runCli(['list', '--db', import.meta.filename])

  assert.equal(code, 1)
  assert.match(stderr, /^hermes-store: .* is not an SQLite database; .*\n$/)
})

test('an old file asks to be migrated, and changing commands do not do it on the way', async (t) => {
  const file = copyFixture(t, 'v8')
  const before = readFileSync(file)

  for (const command of [['list'], ['search', 'x'], ['rename', 'a', 'b'], ['prune', '--yes']]) {
    const { code, stderr } = await runCli([...command, '--db', file])

    assert.equal(code, 1)
    assert.match(stderr, /^hermes-store: .*version 8 .*run `hermes-store migrate`.*\n$/)
  }
  const facts = await cliJson<Record<string, unknown>>(['info', '--db', file])

  assert.equal(facts['state'], 'needs-migration')
  assert.equal(facts['schemaVersion'], 8)
  assert.ok(before.equals(readFileSync(file)))
})

test('a file of a newer Hermes is listed, searched and shown, and never changed', async (t) => {
  const file = copyFixture(t, 'v25')
  const before = readFileSync(file)

  const [first] = await cliJson<Listed[]>(['list', '--db', file, '--limit', '1'])
  const shown = await runCli(['show', '--db', file, first?.id ?? ''])
  const found = await runCli(['search', '--db', file, '大别山'])
  const renamed = await runCli(['rename', '--db', file, first?.id ?? '', 'new'])
  const migrated = await runCli(['migrate', '--db', file])

  assert.equal(shown.code, 0)
  assert.equal(found.code, 0)
  assert.match(found.stdout, /大别山/)
  assert.equal(renamed.code, 1)
  assert.match(
    renamed.stderr,
    /^hermes-store: the file is at schema version 25.*can only be read\n$/,
  )
  assert.match(migrated.stdout + migrated.stderr, /version 25/)
  for (const command of [['delete', first?.id ?? ''], ['prune']]) {
    const { code, stderr } = await runCli(['--db', file, ...command])
    assert.equal(code, 1)
    assert.match(stderr, /^hermes-store: the file is at schema version 25/, 'promises nothing')
  }
  assert.ok(before.equals(readFileSync(file)))
})

test(
  'list answers while a Python process holds the write lock',
  { skip: skipWithoutPython() },
  async (t) => {
    const file = copyMain(t)
    await using python = startPython(
      `import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("BEGIN IMMEDIATE")
conn.execute("UPDATE sessions SET title = 'unseen' WHERE id = 'old-1'")
print("locked")
sys.stdin.read()`,
      [file],
    )
    await python.waitForOutput('locked')

    const list = await cliJson<Listed[]>(['list', '--db', file, '--limit', '1', '--by-activity'])

    assert.equal(list[0]?.id, 'old-1')
    assert.equal(list[0]?.title, null)
  },
)

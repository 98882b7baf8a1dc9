import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { openInChild } from '../support/open-in-child.ts'
import type { OpenReport } from '../support/open-in-child.ts'
import { copyFixture } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const isPosix = process.platform !== 'win32'

// The superuser may do everything, so these ask a process without rights.
const asNobody = setprivArgs()
const skipRights =
  asNobody === undefined && 'NOT TESTED: the superuser needs setpriv to give up rights'

for (const [what, fileMode, folderMode] of [
  ['a file nobody may read', 0o000, 0o755],
  ['a file that may only be read', 0o444, 0o755],
  ['a folder that may not be written', 0o666, 0o555],
] as const) {
  test(`${what} is refused by name and stays as it is`, { skip: skipRights }, async (t) => {
    const file = copyFixture(t, 'v8')
    const before = readFileSync(file)
    chmodSync(file, fileMode)
    chmodSync(path.dirname(file), folderMode)

    const report = await openAsNobody(file)
    chmodSync(path.dirname(file), 0o700)

    assert.equal(report.error, 'CannotOpenError', report.message)
    chmodSync(file, 0o600)
    assert.ok(readFileSync(file).equals(before))
  })
}

test('a new file in a folder without rights is refused', { skip: skipRights }, async (t) => {
  const folder = path.join(tempFolder(t), 'locked')
  mkdirSync(folder)
  chmodSync(path.dirname(folder), 0o755)
  chmodSync(folder, 0o555)

  const report = await openAsNobody(path.join(folder, 'state.db'))

  assert.equal(report.error, 'CannotOpenError', report.message)
  assert.equal(existsSync(path.join(folder, 'state.db')), false)
})

test('a new file below a folder without rights is refused', { skip: skipRights }, async (t) => {
  const folder = tempFolder(t)
  chmodSync(folder, 0o555)

  const report = await openAsNobody(path.join(folder, 'sub', 'state.db'))
  chmodSync(folder, 0o700)

  assert.equal(report.error, 'CannotOpenError', report.message)
})

test('a file in a folder that hides it is refused', { skip: skipRights }, async (t) => {
  const file = copyFixture(t, 'v11')
  const folder = path.dirname(file)
  chmodSync(folder, 0o600)

  const report = await openAsNobody(file)
  chmodSync(folder, 0o700)

  assert.equal(report.error, 'CannotOpenError', report.message)
})

function setprivArgs(): string[] | undefined {
  if (!isPosix) return undefined
  if (process.getuid?.() !== 0) return []
  const args = ['--reuid=65534', '--regid=65534', '--clear-groups']
  try {
    execFileSync('setpriv', [...args, process.execPath, '-e', ''], { stdio: 'ignore' })
    return ['setpriv', ...args]
  } catch {
    return undefined
  }
}

function openAsNobody(file: string): Promise<OpenReport> {
  return openInChild(file, { via: asNobody ?? [] })
}

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'

import { CannotOpenError, openStore } from '../../src/index.ts'
import { fixturePath, withFile } from '../support/state-file.ts'

/** A folder that `fill` has written to and nobody can any more; undefined where it cannot be mounted. */
function readOnlyMount(t: TestContext, fill: (folder: string) => void): string | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), 'hermes-test-'))
  const mount = (...args: string[]): boolean =>
    process.platform === 'linux' && spawnSync('mount', [...args, folder]).status === 0
  const isMounted = mount('-t', 'tmpfs', '-o', 'size=3m', 'tmpfs')
  t.after(() => {
    if (isMounted) spawnSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  if (!isMounted) return undefined
  fill(folder)
  return mount('-o', 'remount,ro') ? folder : undefined
}

const NOT_TESTED = 'NOT TESTED: needs the right to mount a tmpfs'

for (const readonly of [true, false]) {
  test(`where nothing can be written, a file in WAL mode says what it needs (readonly: ${readonly})`, async (t) => {
    const folder = readOnlyMount(t, (made) =>
      copyFileSync(fixturePath('v11'), path.join(made, 'state.db')),
    )
    if (!folder) return t.skip(NOT_TESTED)
    const file = path.join(folder, 'state.db')

    await assert.rejects(openStore({ path: file, readonly }), (error: CannotOpenError) => {
      assert.ok(error instanceof CannotOpenError)
      assert.match(error.message, /WAL mode .*-wal.*-shm.*copy the file/s)
      return true
    })
    assert.ok(readFileSync(file).equals(readFileSync(fixturePath('v11'))))
  })
}

test('where nothing can be written, a file in rollback mode is read', async (t) => {
  const folder = readOnlyMount(t, (made) => {
    const file = path.join(made, 'state.db')
    copyFileSync(fixturePath('v11'), file)
    withFile(file, (raw) => raw.pragma('journal_mode = delete'))
  })
  if (!folder) return t.skip(NOT_TESTED)

  await using store = await openStore({ path: path.join(folder, 'state.db'), readonly: true })

  assert.ok((await store.messages.count()) > 10)
  assert.deepEqual(await store.maintenance.check(), [])
})

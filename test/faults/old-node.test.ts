import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { tempFolder } from '../support/temp-store.ts'

const root = path.join(import.meta.dirname, '..', '..')
const oldNode = findOldNode()

/** A Node older than the package supports, on the PATH or named by `OLD_NODE`; the tests run under a newer one. */
function findOldNode(): string | undefined {
  const outside = (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => path.join(folder, 'node'))
  for (const program of [process.env['OLD_NODE'] ?? '', ...outside]) {
    const { stdout } = spawnSync(program || 'node-that-is-not', ['-p', 'process.versions.napi'])
    if (Number.parseInt(String(stdout), 10) < 10) return program
  }
  return undefined
}

test(
  'the built package says what it needs under an old Node, instead of crashing it',
  { skip: oldNode === undefined && 'NOT TESTED: no Node older than 22.14 on this machine' },
  (t) => {
    const folder = tempFolder(t)
    const dist = path.join(folder, 'dist')
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
    cpSync(path.join(root, 'package.json'), path.join(folder, 'package.json'))
    const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const build = [
      '-p',
      path.join(root, 'tsconfig.json'),
      '--outDir',
      dist,
      '--declaration',
      'false',
    ]
    execFileSync(process.execPath, [tsc, ...build])
    const index = pathToFileURL(path.join(dist, 'index.js')).href
    const script = `import('${index}').then(() => {}, (error) => console.log(error.name, error.code))`

    const { status, signal, stdout } = spawnSync(oldNode ?? '', ['-e', script])

    assert.equal(String(stdout).trim(), 'UnsupportedRuntimeError UNSUPPORTED_RUNTIME')
    assert.deepEqual([status, signal], [0, null])
  },
)

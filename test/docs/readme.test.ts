import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { extractGuide } from './gateway-guide.ts'

const root = path.join(import.meta.dirname, '..', '..')
const readme = readFileSync(path.join(root, 'README.md'), 'utf8')

test("the readme's programs compile", async (t) => {
  // The guide's folder has what they import: the packages, and a model.
  const guide = extractGuide(t)
  const blocks = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, text = '']) => text)
  for (const [index, text] of blocks.entries()) {
    writeFileSync(path.join(guide.folder, `readme-${index}.ts`), text)
  }

  await using compiler = guide.compile()
  const { code } = await compiler.exited

  assert.equal(code, 0, compiler.stdout)
  assert.ok(blocks.length >= 3)
})

test('what the readme links to is there', () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, link = '']) => link)

  assert.deepEqual(
    links.filter((link) => !existsSync(path.join(root, link))),
    [],
  )
  assert.ok(links.length > 5)
})

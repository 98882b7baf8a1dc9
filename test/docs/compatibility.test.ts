import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import * as publicNames from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

const root = path.join(import.meta.dirname, '..', '..')
const page = readFileSync(path.join(root, 'docs', 'compatibility.md'), 'utf8')

test('every method named on the page exists', async (t) => {
  const store = await openTempStore(t)
  const [, names = ''] = /## Methods\n(.*?)\n## /s.exec(page) ?? []
  const methods = names.matchAll(/`(store(?:\.\w+)+)`/g).toArray()

  for (const [, method = ''] of methods) {
    const found = method
      .split('.')
      .slice(1)
      .reduce<unknown>((owner, name) => (owner as Record<string, unknown>)[name], store)
    assert.equal(typeof found, 'function', method)
  }
  assert.equal(typeof publicNames.openStore, 'function')
  assert.equal(typeof publicNames.sanitizeTitle, 'function')
  assert.ok(methods.length > 50, String(methods.length))
})

test('every difference names tests that exist', () => {
  const [, differences = ''] = /## Where we differ on purpose\n(.*?)\n## /s.exec(page) ?? []
  const rows = differences.match(/^\|(?! what \|| --- \|).*$/gm) ?? []

  for (const row of rows) {
    const pins = row.slice(0, -1).split(' | ').at(-1)?.trim().split('<br>') ?? []
    for (const pin of pins) {
      const [, file = '', title = ''] = /^`(test\/\S+\.test\.ts)`: (.+)$/.exec(pin) ?? []
      assert.ok(
        titlesOf(file).some((pattern) => pattern.test(title)),
        `${row}\n${pin}`,
      )
    }
  }
  assert.ok(rows.length > 40, String(rows.length))
})

test('every recorded case in which we differ is on the page, and no other', () => {
  const [, listed = ''] = /## Recorded cases that differ\n(.*)$/s.exec(page) ?? []
  const onPage = listed.matchAll(/^\| `(.+?)` \|/gm).map(([, name]) => name)
  const folder = path.join(root, 'test', 'golden')
  const inTests = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) => exceptionsOf(readFileSync(path.join(folder, name), 'utf8')))

  assert.deepEqual(new Set(onPage), new Set(inTests))
  assert.ok(inTests.length > 10, String(inTests.length))
})

/** What stands in a template matches anything. */
function titlesOf(file: string): RegExp[] {
  const source = readFileSync(path.join(root, file), 'utf8')
  return source
    .matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)
    .map(([, , title = '']) => {
      const parts = title
        .split(/\$\{[^}]*\}/)
        .map((part) => part.replaceAll(/[^\s\w]/gu, String.raw`\$&`))
      return new RegExp(`^${parts.join('.+')}$`)
    })
    .toArray()
}

/** The keys of `DIFFERING` in a golden test, or of the tables in it. */
function exceptionsOf(source: string): string[] {
  const [, table = ''] = /^const DIFFERING\b.*?\{\n(.*?)^\}/ms.exec(source) ?? []
  const ofTables = table.matchAll(/^ {4}'(.*)': /gm).toArray()
  const own = table.matchAll(/^ {2}(?:'(.*)'|([^\s':]+)): /gm).toArray()
  return (ofTables.length > 0 ? ofTables : own).map(([, quoted, plain]) => quoted ?? plain ?? '')
}

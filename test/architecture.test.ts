import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { hermesSteps, ownSteps, SCHEMA_VERSION, versionOf } from '../src/migrations/steps.ts'

const src = path.join(import.meta.dirname, '..', 'src')

interface SourceFile {
  /** Relative to src, with forward slashes. */
  readonly name: string
  readonly text: string
  /** As written in import and export statements and `import()`. */
  readonly imports: readonly string[]
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name): SourceFile => {
    const text = readFileSync(path.join(src, name), 'utf8')
    return { name: name.replaceAll(path.sep, '/'), text, imports: importsIn(text) }
  })

/** What each part may import besides its own files. Types count as well: an arrow is an arrow. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  'runtime-check': ['errors'],
  schema: ['errors'],
  database: ['errors', 'schema'],
  migrations: ['errors'],
  repositories: ['errors', 'schema', 'database'],
  'open-options': ['errors', 'database', 'migrations'],
  store: ['errors', 'schema', 'database', 'migrations', 'repositories'],
  'open-store': ['errors', 'database', 'migrations', 'open-options', 'store'],
  'gateway-adapter': ['errors', 'schema', 'database', 'repositories', 'store', 'index'],
  // A client of the public surface like any other.
  cli: ['errors', 'index', 'gateway-adapter'],
}

/** The public surface imports what it shows; codegen is a program that uses the store. */
const OUTSIDE = new Set(['index.ts', 'schema/codegen.ts'])

test('every file imports only its own part and what stands below it', () => {
  const wrong = files
    .filter(({ name }) => !OUTSIDE.has(name))
    .flatMap(({ name, imports }) =>
      imports
        .filter((target) => target.startsWith('.'))
        .map((target) => path.posix.join(path.posix.dirname(name), target))
        .filter((target) => partOf(target) !== partOf(name))
        .filter((target) => !BELOW[partOf(name)]?.includes(partOf(target)))
        .map((target) => `${name} → ${target}`),
    )

  assert.deepEqual(wrong, [])
})

test('every part has a place in that order', () => {
  const parts = new Set(namesOf(files.filter(({ name }) => !OUTSIDE.has(name))).map(partOf))

  assert.deepEqual(
    [...parts].filter((part) => !(part in BELOW)),
    [],
  )
})

test('no repository imports the repository of another question', () => {
  const isRepository = /(?:^|\/)[a-z-]+-repository\.ts$/
  const sideways = files
    .filter(({ name }) => isRepository.test(name))
    .filter(({ imports }) => imports.some((target) => isRepository.test(target)))

  assert.deepEqual(namesOf(sideways), [])
})

test('only src/database imports the driver', () => {
  const users = files.filter(({ imports }) => imports.includes('better-sqlite3'))

  assert.notEqual(users.length, 0)
  assert.deepEqual(
    namesOf(users).filter((name) => !name.startsWith('database/')),
    [],
  )
})

test('a migration imports nothing but Kysely', () => {
  const migrations = files.filter(({ name }) => /^migrations\/(?:store_)?\d{4}_/.test(name))

  assert.notEqual(migrations.length, 0)
  for (const { name, imports } of migrations) {
    assert.deepEqual([...new Set(imports)], ['kysely'], name)
  }
})

test('the record of migrations is the folder, in order, one for each schema version', () => {
  const inFolder = files
    .map(({ name }) => /^migrations\/((?:store_)?\d{4}_\w+)\.ts$/.exec(name)?.[1])
    .filter((name) => name !== undefined)
    .toSorted((a, b) => (a < b ? -1 : 1))

  const hermes = Object.keys(hermesSteps())
  assert.deepEqual([...hermes, ...Object.keys(ownSteps)], inFolder)
  assert.deepEqual(
    hermes.map(versionOf),
    Array.from({ length: SCHEMA_VERSION }, (_, i) => i + 1),
  )
})

test('a migration says first whose table it makes', () => {
  for (const { name, text } of files) {
    if (!/^migrations\/(?:store_)?\d{4}_/.test(name)) continue
    assert.match(text.split('\n')[0] ?? '', /^\/\/ .*(?:Hermes Agent|[Oo]ur own)/, name)
  }
})

test('nothing is exported by default, nothing by star', () => {
  const offenders = files.filter(({ text }) => /^export (?:default\b|\*)/m.test(text))

  assert.deepEqual(namesOf(offenders), [])
})

test('no type is any', () => {
  const any = /(?::|\bas|<|,|\|)\s*any\b(?!\s*\w)/
  const offenders = files.filter(({ text }) => any.test(withoutComments(text)))

  assert.deepEqual(namesOf(offenders), [])
})

test('relative imports name the file as it is', () => {
  const offenders = files.filter(({ imports }) =>
    imports.some((target) => target.startsWith('.') && !/\.(?:ts|json)$/.test(target)),
  )

  assert.deepEqual(namesOf(offenders), [])
})

/** `database/files.ts` → `database`; `store.ts` → `store`. */
function partOf(name: string): string {
  return (name.split('/')[0] ?? '').replace(/\.ts$/, '')
}

function importsIn(text: string): string[] {
  const code = withoutComments(text)
  const statements = code.matchAll(
    /^(?:import|export)\b[^'"`;]*?\bfrom '([^']+)'|^import '([^']+)'/gm,
  )
  const dynamic = code.matchAll(/\bimport\('([^']+)'\)/g)
  return [...statements, ...dynamic].map(([, from, bare]) => from ?? bare ?? '')
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
}

function namesOf(sources: readonly SourceFile[]): string[] {
  return sources.map(({ name }) => name)
}

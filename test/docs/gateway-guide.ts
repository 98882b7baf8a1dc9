import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'

import { startNode, startProcess, type RunningProcess } from '../support/child.ts'
import { tempFolder } from '../support/temp-store.ts'

const project = path.resolve(import.meta.dirname, '../..')
const modules = path.join(project, 'node_modules')
/** What the guide's reader installs. */
const INSTALLED = [
  '@openai/agents-core',
  '@types/node',
  'discord.js',
  'grammy',
  'keyv',
  'telegraf',
  'undici-types',
]

/** A folder as the reader of `docs/gateway.md` would have it: its programs, and the packages. */
export interface Guide {
  readonly folder: string
  /** The files that the guide shows, in its order. */
  readonly files: readonly string[]
  start(file: string, env?: Record<string, string>): RunningProcess
  compile(): RunningProcess
}

/** Takes the guide apart; its programs import this package's sources by its name. */
export function extractGuide(t: TestContext): Guide {
  const folder = tempFolder(t)
  const files = writeBlocks(folder)
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of INSTALLED) link(path.join(modules, name), folder, name)
  const self = path.join(folder, 'node_modules/hermes-session-store')
  mkdirSync(self)
  symlinkSync(path.join(project, 'src'), path.join(self, 'src'))
  const exports = { '.': './src/index.ts', './gateway': './src/gateway-adapter/index.ts' }
  writeFileSync(path.join(self, 'package.json'), JSON.stringify({ type: 'module', exports }))
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  return {
    folder,
    files,
    start: (file, env = {}) =>
      startNode(path.join(folder, file), [], {
        cwd: folder,
        env: { HERMES_HOME: folder, OPENAI_API_KEY: 'k', ...env },
      }),
    compile: () =>
      startProcess(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', folder]),
  }
}

const tsconfig = {
  extends: path.join(project, 'tsconfig.json'),
  compilerOptions: { noEmit: true, rootDir: '/', allowImportingTsExtensions: true },
  include: ['*.ts'],
}

function writeBlocks(folder: string): string[] {
  const guide = readFileSync(path.join(project, 'docs/gateway.md'), 'utf8')
  return [...guide.matchAll(/^```ts\n(\/\/ ([\w.-]+\.ts)\n[^]*?)^```$/gm)].map(
    ([, text = '', name = '']) => {
      writeFileSync(path.join(folder, name), text)
      return name
    },
  )
}

function link(target: string, folder: string, name: string): void {
  const at = path.join(folder, 'node_modules', name)
  mkdirSync(path.dirname(at), { recursive: true })
  symlinkSync(target, at)
}

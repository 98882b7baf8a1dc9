import { copyFileSync, chmodSync } from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'

import { openStore, type Store } from '../../src/index.ts'
import { startNode, type ProcessOptions, type RunningProcess } from '../support/child.ts'
import { tempFolder } from '../support/temp-store.ts'

export const mainScript = path.join(import.meta.dirname, '../../src/cli/main.ts')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts the command line as its user does; dates are in UTC. */
export function startCli(args: string[], options: ProcessOptions = {}): RunningProcess {
  return startNode(mainScript, args, { input: '', ...options, env: { TZ: 'UTC', ...options.env } })
}

export async function runCli(args: string[], options: ProcessOptions = {}): Promise<Finished> {
  await using running = startCli(args, options)
  const { code } = await running.exited
  return { code, stdout: running.stdout, stderr: running.stderr }
}

/** What a command with `--json` printed. @throws when it failed. */
export async function cliJson<T>(args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli(['--json', ...args])
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}

/** A copy of the file that the recordings of v11 were made on. */
export function copyMain(t: TestContext): string {
  const file = path.join(tempFolder(t), 'state.db')
  copyFileSync(path.join(import.meta.dirname, '../golden/main.db'), file)
  chmodSync(file, 0o600)
  return file
}

/** A closed file with what `fill` put into it. */
export async function storeFile(
  t: TestContext,
  fill: (store: Store) => Promise<unknown>,
): Promise<string> {
  const file = path.join(tempFolder(t), 'state.db')
  await using store = await openStore({ path: file })
  await fill(store)
  return file
}

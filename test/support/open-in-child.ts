import path from 'node:path'

import type { MigrationEvent, OpenStoreOptions } from '../../src/index.ts'
import { startProcess } from './child.ts'
import type { RunningProcess } from './child.ts'
import { jsonLines } from './python.ts'

/** How a process that opened a store says it ended. */
export interface OpenReport {
  version?: number
  warnings?: number
  maxRssKb?: number
  /** The name of the typed error, if it came to one. */
  error?: string
  message?: string
}

export interface OpeningOptions {
  store?: Omit<OpenStoreOptions, 'path' | 'onProgress' | 'logger'>
  /** `--wait`: says "ready" and opens when a line comes. `--hold`: stays open until its input ends. */
  flags?: ('--wait' | '--hold')[]
  /** A program and its arguments to run Node with, `setpriv` for instance. */
  via?: string[]
  nodeArgs?: string[]
}

/** Starts a process that opens the file, prints what the runner tells, and closes it. */
export function startOpening(file: string, options: OpeningOptions = {}): RunningProcess {
  const [program = '', ...args] = [
    ...(options.via ?? []),
    process.execPath,
    ...(options.nodeArgs ?? []),
    path.join(import.meta.dirname, 'open-child.ts'),
    file,
    JSON.stringify(options.store ?? {}),
    ...(options.flags ?? []),
  ]
  return startProcess(program, args, options.flags ? {} : { input: '' })
}

/** The report of a process that has ended; what it printed to standard error is thrown when there is none. */
export async function reportOf(child: RunningProcess): Promise<OpenReport> {
  await child.exited
  const report = jsonLines<OpenReport & { kind?: string }>(child.stdout).at(-1)
  if (!report || report.kind !== undefined) throw new Error(`no report:\n${child.stderr}`)
  return report
}

/** Opens and closes the file in a process of its own. */
export async function openInChild(file: string, options: OpeningOptions = {}): Promise<OpenReport> {
  await using child = startOpening(file, options)
  return await reportOf(child)
}

/** What the runner told in that process, in order. */
export function eventsOf(child: RunningProcess): MigrationEvent[] {
  const kinds = new Set(['begin', 'step', 'rows', 'repair', 'end'])
  return jsonLines<MigrationEvent>(child.stdout).filter(({ kind }) => kinds.has(kind))
}

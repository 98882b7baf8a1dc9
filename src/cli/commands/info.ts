import { statSync } from 'node:fs'
import path from 'node:path'

import type { Command } from 'commander'

import {
  defaultStatePath,
  MigrationRequiredError,
  SCHEMA_VERSION,
  type Store,
} from '../../index.ts'
import type { Cli } from '../cli.ts'
import { byteSize, localTime, oneLine } from '../text.ts'

export function addInfo(program: Command, cli: Cli): void {
  program
    .command('info')
    .description('what the file is and what is in it')
    .action(async () => {
      const facts = await readFacts(cli)
      if (cli.json) return cli.out.json(facts)
      for (const [name, value] of rowsOf(facts)) {
        await cli.out.line(`${cli.out.dim(name.padEnd(10))}${oneLine(value)}`)
      }
    })
}

interface FileFacts {
  readonly path: string
  readonly bytes: number
  /** What is written but not yet folded into the file itself. */
  readonly walBytes: number
  readonly schemaVersion: number
  readonly state: 'current' | 'needs-migration' | 'newer'
}

interface Contents {
  readonly sessions: { total: number; open: number; ended: number }
  readonly messages: number
  /** A rebuild of the search indexes was stopped, or is going on in another process. */
  readonly isIndexRebuildOpen: boolean
  readonly sources: readonly { source: string; sessions: number }[]
  /** Seconds since the epoch. */
  readonly firstStarted: number | null
  readonly lastActive: number | null
}

type Facts = FileFacts & Partial<Contents>

async function readFacts(cli: Cli): Promise<Facts> {
  try {
    return await cli.read(async (store) => ({
      ...fileFacts(store.path, store.schemaVersion),
      ...(await contentsOf(store)),
    }))
  } catch (error) {
    if (!(error instanceof MigrationRequiredError)) throw error
    return {
      ...fileFacts(path.resolve(cli.path ?? defaultStatePath()), error.version),
      state: 'needs-migration',
    }
  }
}

function fileFacts(file: string, schemaVersion: number): FileFacts {
  const state =
    schemaVersion > SCHEMA_VERSION
      ? 'newer'
      : schemaVersion < SCHEMA_VERSION
        ? 'needs-migration'
        : 'current'
  return {
    path: file,
    bytes: sizeOf(file),
    walBytes: sizeOf(`${file}-wal`),
    schemaVersion,
    state,
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

async function contentsOf(store: Store): Promise<Contents> {
  const sources = await store.db
    .selectFrom('sessions')
    .select((eb) => [
      'source',
      eb.fn.countAll<number>().as('sessions'),
      eb.fn.count<number>('ended_at').as('ended'),
      eb.fn.min('started_at').as('first'),
      eb.fn.max('started_at').as('last'),
    ])
    .groupBy('source')
    .orderBy('sessions', 'desc')
    .orderBy('source')
    .execute()
  const newest = await store.db
    .selectFrom('messages')
    .select((eb) => eb.fn.max('timestamp').as('timestamp'))
    .executeTakeFirst()
  const sum = (of: (row: (typeof sources)[number]) => number): number =>
    sources.reduce((total, row) => total + of(row), 0)
  const total = sum((row) => row.sessions)
  const ended = sum((row) => row.ended)
  const active = [...sources.map((row) => row.last), newest?.timestamp ?? null]
  return {
    sessions: { total, open: total - ended, ended },
    messages: await store.messages.count(),
    isIndexRebuildOpen: (await store.meta.get('store_index_rebuild')) !== null,
    sources: sources.map(({ source, sessions }) => ({ source, sessions })),
    firstStarted: extreme(
      Math.min,
      sources.map((row) => row.first),
    ),
    lastActive: extreme(Math.max, active),
  }
}

function extreme(
  pick: (...values: number[]) => number,
  values: readonly (number | null)[],
): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : pick(...known)
}

function rowsOf(facts: Facts): [string, string][] {
  const { sessions, messages, sources, firstStarted, lastActive, isIndexRebuildOpen } = facts
  const rows: [string, string][] = [
    ['file', facts.path],
    ['size', `${byteSize(facts.bytes)}, and ${byteSize(facts.walBytes)} in its WAL`],
    ['schema', `version ${facts.schemaVersion}${explained[facts.state]}`],
  ]
  if (!sessions) return rows
  const perSource = sources?.map((row) => `${row.source} ${row.sessions}`).join(', ') || 'none'
  return [
    ...rows,
    ['sessions', `${sessions.total} (${sessions.open} open, ${sessions.ended} ended)`],
    ['messages', String(messages)],
    ['sources', perSource],
    ['from', `${localTime(firstStarted)} to ${localTime(lastActive)}`],
    ...(isIndexRebuildOpen ? [unfinishedRebuild] : []),
  ]
}

const unfinishedRebuild: [string, string] = [
  'search',
  'complete, but slow: a rebuild of its indexes was stopped or is going on; ' +
    '`hermes-store rebuild-indexes` goes on with it',
]

const explained = {
  current: '',
  'needs-migration': ', to be upgraded: run `hermes-store migrate`',
  newer: ', written by a newer Hermes: it can be read, not changed',
}

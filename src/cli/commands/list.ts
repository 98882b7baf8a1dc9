import type { Command } from 'commander'

import type { RecentSession, SessionListEntry } from '../../index.ts'
import { limit, notEmpty, wholeNumber } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { table, type Column } from '../table.ts'
import { localTime, oneLine } from '../text.ts'

interface PageOptions {
  readonly source?: string
  readonly limit: number
  readonly offset: number
}

interface ListOptions extends PageOptions {
  readonly all?: true
  readonly byActivity?: true
}

export function addList(program: Command, cli: Cli): void {
  pageCommand(program, 'list')
    .description('conversations, the latest started first')
    .option('--all', 'sub-agent runs and the parts of compressed conversations, too')
    .option('--by-activity', 'the latest active first')
    .action((options: ListOptions) =>
      cli.read(async (store) => {
        const sessions = await store.sessions.list({
          ...pageOf(options),
          includeChildren: options.all ?? false,
          orderByLastActive: options.byActivity ?? false,
        })
        await print(cli, sessions)
      }),
    )
}

export function addRecent(program: Command, cli: Cli): void {
  pageCommand(program, 'recent')
    .description('single sessions, the latest active first')
    .action((options: PageOptions) =>
      cli.read(async (store) => print(cli, await store.sessions.recent(pageOf(options)))),
    )
}

function pageCommand(program: Command, name: string): Command {
  return program
    .command(name)
    .option('--source <source>', 'only sessions of this source, such as cli or telegram', notEmpty)
    .option('--limit <number>', 'how many, or "all"', limit, 20)
    .option('--offset <number>', 'how many to leave out first', wholeNumber, 0)
}

function pageOf({ source, limit: count, offset }: PageOptions) {
  return { limit: count, offset, ...(source !== undefined && { source }) }
}

type Entry = SessionListEntry | RecentSession

async function print(cli: Cli, sessions: readonly Entry[]): Promise<void> {
  if (cli.json) return cli.out.json(sessions)
  if (sessions.length === 0) return cli.out.line('No sessions.')
  const [head = '', ...lines] = table(columns, sessions.map(rowOf), cli.out.width)
  await cli.out.line([cli.out.bold(head), ...lines].join('\n'))
}

const columns: readonly Column[] = [
  { head: 'ID' },
  { head: 'SOURCE' },
  { head: 'MESSAGES', align: 'right' },
  { head: 'LAST ACTIVE' },
  { head: 'ENDED' },
  { head: 'TITLE', gives: true },
]

function rowOf(session: Entry): string[] {
  return [
    oneLine(session.id),
    oneLine(session.source),
    String(session.messageCount ?? 0),
    localTime(session.lastActive),
    session.endedAt === null ? '' : oneLine(session.endReason ?? 'yes'),
    oneLine(session.title ?? ('preview' in session ? session.preview : '')),
  ]
}

import type { Command } from 'commander'

import type { ModelUsage, SessionTokens } from '../../index.ts'
import { limit, notEmpty } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { table, type Column } from '../table.ts'
import { oneLine } from '../text.ts'

interface UsageOptions {
  readonly source?: string
  readonly limit: number
}

export function addUsage(program: Command, cli: Cli): void {
  program
    .command('usage')
    .description('tokens and estimated cost by model, and the sessions that used most')
    .option('--source <source>', 'only sessions of this source', notEmpty)
    .option('--limit <number>', 'how many sessions, or "all"', limit, 10)
    .action(({ source, limit: count }: UsageOptions) =>
      cli.read(async (store) => {
        const from = source === undefined ? {} : { source }
        const models = await store.analytics.usageByModel(from)
        const sessions = await store.analytics.topSessionsByTokens({ ...from, limit: count })
        if (cli.json) return cli.out.json({ models, sessions })
        const used = sessions.filter(({ totalTokens }) => totalTokens > 0)
        if (models.length + used.length === 0) return cli.out.line('No usage is recorded.')
        await print(cli, modelColumns, models.map(modelRow))
        await cli.out.line()
        await print(cli, sessionColumns, used.map(sessionRow))
      }),
    )
}

const modelColumns: readonly Column[] = [
  { head: 'MODEL', gives: true },
  { head: 'SESSIONS', align: 'right' },
  { head: 'CALLS', align: 'right' },
  { head: 'INPUT', align: 'right' },
  { head: 'OUTPUT', align: 'right' },
  { head: 'CACHED', align: 'right' },
  { head: 'USD', align: 'right' },
]

function modelRow(usage: ModelUsage): string[] {
  return [
    oneLine(usage.model),
    String(usage.sessions),
    String(usage.apiCallCount),
    String(usage.inputTokens),
    String(usage.outputTokens),
    String(usage.cacheReadTokens),
    dollars(usage.totalCostUsd),
  ]
}

const sessionColumns: readonly Column[] = [
  { head: 'SESSION' },
  { head: 'TOKENS', align: 'right' },
  { head: 'USD', align: 'right' },
  { head: 'TITLE', gives: true },
]

function sessionRow(session: SessionTokens): string[] {
  return [
    oneLine(session.id),
    String(session.totalTokens),
    dollars(session.estimatedCostUsd),
    oneLine(session.title ?? ''),
  ]
}

function dollars(cost: number | null): string {
  return cost === null ? '-' : cost.toFixed(2)
}

async function print(cli: Cli, columns: readonly Column[], rows: string[][]): Promise<void> {
  const [head = '', ...lines] = table(columns, rows, cli.out.width)
  await cli.out.line([cli.out.bold(head), ...lines].join('\n'))
}

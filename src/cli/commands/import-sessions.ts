import { InvalidArgumentError, type Command } from 'commander'

import { importSessions, type ImportedChat } from '../../gateway-adapter/index.ts'
import type { Cli } from '../cli.ts'
import { table, type Column } from '../table.ts'
import { oneLine } from '../text.ts'

interface Options {
  readonly apply?: boolean
  readonly account: Readonly<Record<string, string>>
  readonly sharedGroups?: true
}

export function addImportSessions(program: Command, cli: Cli): void {
  program
    .command('import-sessions <file>')
    .description(
      "take over which chat is in which session from the sessions.json of Hermes' gateway",
    )
    .option('--account <platform=id>', "the bot's own id there; can be given again", account, {})
    .option('--shared-groups', 'the members of a group have one session together')
    .option('--apply', 'do it; without this the report says what would be done')
    .action(async (file: string, { apply = false, ...options }: Options) => {
      const { account: accounts, sharedGroups = false } = options
      const work = apply ? cli.write.bind(cli) : cli.preview.bind(cli)
      await work(async (store) => {
        const groupSessionsPerUser = !sharedGroups
        const chats = await importSessions(store, file, { apply, accounts, groupSessionsPerUser })
        await print(cli, chats, apply)
      })
    })
}

function account(text: string, earlier: Readonly<Record<string, string>>) {
  const [, platform, id] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (!platform || !id) throw new InvalidArgumentError('must be like telegram=4242.')
  return { ...earlier, [platform]: id }
}

async function print(cli: Cli, chats: readonly ImportedChat[], apply: boolean): Promise<void> {
  if (cli.json) return cli.out.json({ applied: apply, chats })
  const rows = chats.map(({ key, sessionId, outcome }) => [
    oneLine(outcome),
    oneLine(sessionId ?? ''),
    oneLine(key),
  ])
  if (rows.length > 0) await cli.out.line(table(columns, rows, cli.out.width).join('\n'))
  const count = chats.filter(({ outcome }) => outcome === 'new').length
  const done = apply ? 'taken over' : 'to take over; --apply does it'
  await cli.out.line(`${count} of ${chats.length} chats ${done}`)
}

const columns: readonly Column[] = [
  { head: 'OUTCOME' },
  { head: 'SESSION' },
  { head: 'CHAT', gives: true },
]

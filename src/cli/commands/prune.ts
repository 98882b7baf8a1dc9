import type { Command } from 'commander'

import type { Store } from '../../index.ts'
import { folder, notEmpty, wholeNumber } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { counted, localTime } from '../text.ts'

interface PruneOptions {
  readonly days: number
  readonly source?: string
  readonly transcripts?: string
  readonly yes?: true
}

const DAY_SECONDS = 86_400

export function addPrune(program: Command, cli: Cli): void {
  program
    .command('prune')
    .description('delete ended sessions that started long ago, with their messages')
    .option('--days <number>', 'how many days ago at least', wholeNumber, 90)
    .option('--source <source>', 'only sessions of this source', notEmpty)
    .option('--transcripts <folder>', 'delete their transcript files in there, too', folder)
    .option('--yes', 'do it; without this it is only said what would go')
    .action(async (options: PruneOptions) => {
      if (!options.yes) {
        const found = await cli.preview((store) => findPrunable(store, options))
        if (cli.json) return cli.out.json({ dryRun: true, ...found })
        return cli.out.line(
          `Would delete ${described(found, options)}. Nothing was deleted; --yes deletes.`,
        )
      }
      const { days, source, transcripts } = options
      const sessions = await cli.write((store) =>
        store.sessions.prune({
          olderThanDays: days,
          ...(source !== undefined && { source }),
          ...(transcripts !== undefined && { transcriptFolder: transcripts }),
        }),
      )
      if (cli.json) return cli.out.json({ dryRun: false, sessions })
      await cli.out.line(`Deleted ${counted(sessions, 'session')}.`)
    })
}

interface Prunable {
  readonly sessions: number
  readonly messages: number
  /** Seconds since the epoch. */
  readonly startedBefore: number
}

/** What prune would delete now: ended and started before (spec §14). */
async function findPrunable(store: Store, { days, source }: PruneOptions): Promise<Prunable> {
  const startedBefore = Date.now() / 1000 - days * DAY_SECONDS
  const old = store.db
    .selectFrom('sessions')
    .where('started_at', '<', startedBefore)
    .where('ended_at', 'is not', null)
    .$if(source !== undefined, (query) => query.where('source', '=', source ?? ''))
  const { sessions } = await old
    .select((eb) => eb.fn.countAll<number>().as('sessions'))
    .executeTakeFirstOrThrow()
  const { messages } = await store.db
    .selectFrom('messages')
    .where('session_id', 'in', old.select('id'))
    .select((eb) => eb.fn.countAll<number>().as('messages'))
    .executeTakeFirstOrThrow()
  return { sessions, messages, startedBefore }
}

function described(
  { sessions, messages, startedBefore }: Prunable,
  { source }: PruneOptions,
): string {
  const of = source === undefined ? '' : ` of ${source}`
  return (
    `${counted(sessions, 'ended session')}${of} that started before ${localTime(startedBefore)}, ` +
    `with ${counted(messages, 'message')}`
  )
}

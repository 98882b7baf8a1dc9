import type { Command } from 'commander'

import { SessionNotFoundError, type Store } from '../../index.ts'
import { folder } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { UsageError } from '../errors.ts'
import { findExactSession } from '../find-session.ts'
import { counted, localTime, oneLine } from '../text.ts'

interface DeleteOptions {
  readonly yes?: true
  readonly transcripts?: string
}

export function addDelete(program: Command, cli: Cli): void {
  program
    .command('delete <session>')
    .description('delete a session and its messages; its sub-sessions stay and lose their parent')
    .option('--transcripts <folder>', "delete the session's transcript files in there, too", folder)
    .option('--yes', 'do it; without this nothing is deleted')
    .action(async (typed: string, options: DeleteOptions) => {
      if (!options.yes) {
        const what = await cli.preview(async (store) =>
          describe(store, await findExactSession(store, typed)),
        )
        throw new UsageError(`nothing was deleted; --yes deletes ${what}`)
      }
      await cli.write(async (store) => {
        const id = await findExactSession(store, typed)
        const what = await describe(store, id)
        const { transcripts } = options
        const where = transcripts === undefined ? {} : { transcriptFolder: transcripts }
        if (!(await store.sessions.delete(id, where))) throw new SessionNotFoundError(id)
        if (cli.json) return cli.out.json({ deleted: id })
        await cli.out.line(`Deleted ${what}.`)
      })
    })
}

async function describe(store: Store, id: string): Promise<string> {
  const session = await store.sessions.get(id)
  const title = session.title === null ? '' : ` "${session.title}"`
  const messages = counted(await store.messages.count(id), 'message')
  return oneLine(`${id}${title}, started ${localTime(session.startedAt)}, ${messages}`)
}

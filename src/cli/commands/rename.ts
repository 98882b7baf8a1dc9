import type { Command } from 'commander'

import { SessionNotFoundError } from '../../index.ts'
import type { Cli } from '../cli.ts'
import { findExactSession } from '../find-session.ts'
import { oneLine } from '../text.ts'

export function addRename(program: Command, cli: Cli): void {
  program
    .command('rename <session> <title>')
    .description('give a session another title; an empty one takes its title away')
    .action((typed: string, title: string) =>
      cli.write(async (store) => {
        const id = await findExactSession(store, typed)
        if (!(await store.titles.set(id, title))) throw new SessionNotFoundError(id)
        const stored = await store.titles.get(id)
        if (cli.json) return cli.out.json({ id, title: stored ?? null })
        const now = stored ? `is now "${oneLine(stored)}"` : 'has no title now'
        await cli.out.line(`${oneLine(id)} ${now}`)
      }),
    )
}

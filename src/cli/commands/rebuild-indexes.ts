import type { Command } from 'commander'

import type { Cli } from '../cli.ts'
import { Progress } from '../progress.ts'

export function addRebuildIndexes(program: Command, cli: Cli): void {
  program
    .command('rebuild-indexes')
    .description('build the search indexes anew, while others go on writing')
    .action(() =>
      cli.write(async (store) => {
        const progress = new Progress('rebuild-indexes')
        await store.maintenance.rebuildIndexes({
          onProgress: (done, total) => progress.amount(`${done} of ${total} index rows`),
        })
        progress.end()
        const messages = await store.messages.count()
        if (cli.json) return cli.out.json({ messages })
        await cli.out.line(`${messages} messages can be searched.`)
      }),
    )
}

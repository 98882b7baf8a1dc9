import type { Command } from 'commander'

import type { Cli } from '../cli.ts'
import { Progress } from '../progress.ts'
import { oneLine } from '../text.ts'

export function addMigrate(program: Command, cli: Cli): void {
  program
    .command('migrate')
    .description('upgrade the file to the schema version this package writes')
    .action(async () => {
      const progress = new Progress('migrate')
      let fromVersion: number | undefined
      let step = 'repair'
      const { path, version } = await cli.migrate((event) => {
        if (event.kind === 'begin') fromVersion = event.fromVersion
        else if (event.kind === 'rows')
          progress.amount(`${step}: ${event.done} of ${event.total} rows`)
        else if (event.kind === 'end') progress.end()
        else progress.stage((step = event.kind === 'step' ? event.name : 'repair'))
      })
      if (cli.json) return cli.out.json({ path, version, fromVersion: fromVersion ?? version })
      const done =
        fromVersion === undefined ? 'is already' : `was at version ${fromVersion}, is now`
      await cli.out.line(`${oneLine(path)} ${done} at version ${version}`)
    })
}

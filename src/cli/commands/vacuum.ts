import { statSync } from 'node:fs'

import type { Command } from 'commander'

import type { Cli } from '../cli.ts'
import { byteSize } from '../text.ts'

export function addVacuum(program: Command, cli: Cli): void {
  program
    .command('vacuum')
    .description('give unused space in the file back; other writers wait meanwhile')
    .action(() =>
      cli.write(async (store) => {
        const bytesBefore = statSync(store.path).size
        await store.maintenance.vacuum()
        const bytesAfter = statSync(store.path).size
        if (cli.json) return cli.out.json({ bytesBefore, bytesAfter })
        await cli.out.line(`${byteSize(bytesBefore)} before, ${byteSize(bytesAfter)} now`)
      }),
    )
}

import { statSync } from 'node:fs'
import path from 'node:path'

import type { Command } from 'commander'

import type { Cli } from '../cli.ts'
import { untilInterrupted } from '../interruption.ts'
import { assertReplaceable } from '../new-file.ts'
import { byteSize, oneLine } from '../text.ts'

export function addBackup(program: Command, cli: Cli): void {
  program
    .command('backup <file>')
    .description('copy the file as it is at this moment, while others go on writing')
    .option('--force', 'replace the copy if it exists')
    .action((file: string, { force = false }: { force?: boolean }) =>
      untilInterrupted((signal) =>
        cli.read(async (store) => {
          assertReplaceable(file, force, store.path)
          await store.maintenance.backup(file, { overwrite: force, signal })
          const copy = { path: path.resolve(file), bytes: statSync(file).size }
          if (cli.json) return cli.out.json(copy)
          await cli.out.line(`${oneLine(copy.path)}, ${byteSize(copy.bytes)}`)
        }),
      ),
    )
}

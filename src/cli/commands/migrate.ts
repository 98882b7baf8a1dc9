import type { Command } from 'commander'

import type { MigrationEvent } from '../../index.ts'
import type { Cli } from '../cli.ts'
import { oneLine } from '../text.ts'

export function addMigrate(program: Command, cli: Cli): void {
  program
    .command('migrate')
    .description('upgrade the file to the schema version this package writes')
    .action(async () => {
      const progress = new Progress()
      const { path, version } = await cli.migrate((event) => progress.report(event))
      const { fromVersion } = progress
      if (cli.json) return cli.out.json({ path, version, fromVersion: fromVersion ?? version })
      const done =
        fromVersion === undefined ? 'is already' : `was at version ${fromVersion}, is now`
      await cli.out.line(`${oneLine(path)} ${done} at version ${version}`)
    })
}

/** Says on standard error what the runner does: on a terminal in one line, else a line for each step. */
class Progress {
  fromVersion: number | undefined
  readonly #isTerminal = process.stderr.isTTY
  #step = 'repair'

  report(event: MigrationEvent): void {
    if (event.kind === 'begin') this.fromVersion = event.fromVersion
    if (event.kind === 'step') this.#step = event.name
    if (event.kind === 'end') this.#clear()
    if (event.kind === 'step' || event.kind === 'repair') this.#say(this.#step)
    if (event.kind === 'rows' && this.#isTerminal) {
      this.#say(`${this.#step}: ${event.done} of ${event.total} rows`)
    }
  }

  #say(text: string): void {
    process.stderr.write(this.#isTerminal ? `\r\x1b[K${text}` : `migrate: ${text}\n`)
  }

  #clear(): void {
    if (this.#isTerminal) process.stderr.write('\r\x1b[K')
  }
}

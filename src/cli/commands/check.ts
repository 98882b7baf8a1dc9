import type { Command } from 'commander'

import type { FileProblem } from '../../index.ts'
import type { Cli } from '../cli.ts'
import { CommandError } from '../errors.ts'
import { counted, oneLine } from '../text.ts'

export function addCheck(program: Command, cli: Cli): void {
  program
    .command('check')
    .description('read the whole file and say what is wrong with it; it changes nothing')
    .action(() =>
      cli.read(async (store) => {
        const problems = await store.maintenance.check()
        if (cli.json) await cli.out.json(problems)
        else if (problems.length === 0) await cli.out.line('No problems found.')
        else {
          for (const problem of problems) await cli.out.line(described(problem))
        }
        if (problems.length === 0) return
        const kinds = new Set(problems.map(({ kind }) => kind))
        throw new CommandError(`${counted(problems.length, 'problem')} found${adviceFor(kinds)}`)
      }),
    )
}

function described({ kind, name, detail }: FileProblem): string {
  return oneLine(`${kind}${name === undefined ? '' : ` ${name}`}: ${detail}`)
}

/** Nothing is to be built over damaged pages. */
function adviceFor(kinds: ReadonlySet<string>): string {
  if (kinds.has('file')) return '; pages are damaged: restore a backup'
  return kinds.has('index') ? '; run `hermes-store rebuild-indexes`' : ''
}

import { readFileSync } from 'node:fs'

import { Command } from 'commander'

import { defaultStatePath } from '../index.ts'
import { Cli } from './cli.ts'
import { addBackup } from './commands/backup.ts'
import { addCheck } from './commands/check.ts'
import { addDelete } from './commands/delete.ts'
import { addExport } from './commands/export.ts'
import { addImportSessions } from './commands/import-sessions.ts'
import { addInfo } from './commands/info.ts'
import { addList, addRecent } from './commands/list.ts'
import { addMigrate } from './commands/migrate.ts'
import { addPrune } from './commands/prune.ts'
import { addRebuildIndexes } from './commands/rebuild-indexes.ts'
import { addRename } from './commands/rename.ts'
import { addSearch } from './commands/search.ts'
import { addShow } from './commands/show.ts'
import { addUsage } from './commands/usage.ts'
import { addVacuum } from './commands/vacuum.ts'
import { oneLine } from './text.ts'

/** The command line as commander knows it; parsing it runs the command. */
export function createProgram(): Command {
  const program = new Command('hermes-store')
    .description("Reads and tends Hermes Agent's session store, a state.db of any age.")
    .option('--db <path>', `the file (default: ${defaultStatePath()})`)
    .option('--json', 'JSON for other programs instead of text for people')
    .option('--debug', 'show the whole of an error, with its causes')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`hermes-store: ${tidied(text)}\n`) })
  const cli = new Cli(program)
  for (const add of [
    addInfo,
    addList,
    addRecent,
    addShow,
    addSearch,
    addExport,
    addUsage,
    addRename,
    addDelete,
    addPrune,
    addImportSessions,
    addMigrate,
    addCheck,
    addBackup,
    addRebuildIndexes,
    addVacuum,
  ]) {
    add(program, cli)
  }
  return program
}

/** Commander's message on one line, as our own errors are. */
function tidied(text: string): string {
  return oneLine(text.trim().replace(/^error: /, ''))
}

function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

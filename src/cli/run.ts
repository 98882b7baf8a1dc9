import { CommanderError } from 'commander'

import {
  DatabaseCorruptError,
  InvalidInputError,
  MigrationRequiredError,
  SCHEMA_VERSION,
} from '../index.ts'
import { OutputClosedError, UsageError } from './errors.ts'
import { createProgram } from './program.ts'
import { oneLine } from './text.ts'

const FAILED = 1
const WRONG_USAGE = 2

/** Runs one command line and returns the exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function run(args: readonly string[]): Promise<number> {
  // What a closed standard error cannot take is lost; the exit code still tells.
  process.stderr.on('error', () => {})
  const program = createProgram()
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // The reader of a pipe (`| head`) has seen enough.
    if (error instanceof OutputClosedError) return 0
    // Commander has said what is wrong, or shown the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE
    if (program.opts<{ debug?: true }>().debug) console.error(error)
    else console.error(`hermes-store: ${describe(error)}`)
    return error instanceof UsageError || error instanceof InvalidInputError ? WRONG_USAGE : FAILED
  }
}

function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof MigrationRequiredError && error.version <= SCHEMA_VERSION) {
    return `the file is at schema version ${error.version} or incomplete; run \`hermes-store migrate\` to upgrade it`
  }
  if (error instanceof DatabaseCorruptError && error.scope === 'index') {
    return oneLine(`${message}; run \`hermes-store rebuild-indexes\``)
  }
  return oneLine(message)
}

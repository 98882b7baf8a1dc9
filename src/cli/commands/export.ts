import type { Command } from 'commander'

import { SessionNotFoundError, type Store } from '../../index.ts'
import { notEmpty } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { UsageError } from '../errors.ts'
import { findSession } from '../find-session.ts'
import { untilInterrupted } from '../interruption.ts'
import { assertReplaceable, writeNewFile } from '../new-file.ts'
import { toJson } from '../text.ts'

interface ExportOptions {
  readonly source?: string
  readonly out?: string
  readonly force?: true
}

export function addExport(program: Command, cli: Cli): void {
  program
    .command('export [session]')
    .description('all sessions, or one, with their messages: one line of JSON for each session')
    .option('--source <source>', 'only sessions of this source', notEmpty)
    .option('--out <file>', 'write this file, for its owner only, instead of the output', notEmpty)
    .option('--force', 'replace the file if it exists')
    .action((typed: string | undefined, options: ExportOptions) => {
      const { source, out } = options
      if (typed !== undefined && source !== undefined) {
        throw new UsageError('name a session or a --source, not both')
      }
      if (out === undefined || out === '-') {
        return cli.read(async (store) => {
          for await (const session of sessionsOf(store, typed, source)) {
            await cli.out.line(toJson(session))
          }
        })
      }
      return untilInterrupted((signal) =>
        cli.read(async (store) => {
          assertReplaceable(out, options.force ?? false, store.path)
          await writeNewFile(out, async (file) => {
            for await (const session of sessionsOf(store, typed, source)) {
              signal.throwIfAborted()
              await file.appendFile(`${toJson(session)}\n`)
            }
          })
        }),
      )
    })
}

async function* sessionsOf(
  store: Store,
  typed: string | undefined,
  source: string | undefined,
): AsyncIterable<object> {
  if (typed === undefined) {
    yield* store.exports.all(source === undefined ? {} : { source })
    return
  }
  const id = await findSession(store, typed)
  const session = await store.exports.session(id)
  if (!session) throw new SessionNotFoundError(id)
  yield session
}

import { existsSync, rmSync, statSync } from 'node:fs'
import { open, rename, type FileHandle } from 'node:fs/promises'
import path from 'node:path'

import { CommandError } from './errors.ts'

/**
 * Writes an owner-only file that appears under its name when it is complete: after an error or
 * Ctrl-C nothing is left, and what stood there before still stands.
 * @throws {CommandError} when the name is taken and `force` is not set, or is no regular file's.
 */
export async function writeNewFile(
  file: string,
  { force, keep }: { force: boolean; keep: string },
  write: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  assertReplaceable(file, force, keep)
  const partial = `${file}.${process.pid}.partial`
  const discard = (): void => rmSync(partial, { force: true })
  const interrupted = (signal: NodeJS.Signals): void => {
    discard()
    process.removeListener(signal, interrupted)
    process.kill(process.pid, signal)
  }
  const handle = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new CommandError(`cannot write ${file}: ${(error as Error).message}`, { cause: error })
  })
  for (const signal of SIGNALS) process.once(signal, interrupted)
  try {
    await write(handle)
    await handle.sync()
    await handle.close()
    await rename(partial, file)
  } catch (error) {
    await handle.close().catch(() => {})
    discard()
    throw error
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, interrupted)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `keep` is the database: its folder's copy of it must not be written over, by whatever name. */
function assertReplaceable(file: string, force: boolean, keep: string): void {
  if (!existsSync(file)) return
  if (!force) throw new CommandError(`${file} exists; --force replaces it`)
  const stat = statSync(file)
  const kept = statSync(keep, { throwIfNoEntry: false })
  if (kept && kept.ino === stat.ino && kept.dev === stat.dev) {
    throw new CommandError(`${file} is the database itself`)
  }
  if (path.resolve(file).startsWith(`${keep}-`)) {
    throw new CommandError(`${file} belongs to the database`)
  }
  if (!stat.isFile()) throw new CommandError(`${file} is not a regular file`)
}

import { realpathSync, rmSync, statSync } from 'node:fs'
import { open, rename, type FileHandle } from 'node:fs/promises'
import path from 'node:path'

import { CommandError } from './errors.ts'

/**
 * Writes an owner-only file that appears under its name when it is complete: after an error nothing
 * is left, and what stood there before still stands.
 */
export async function writeNewFile(
  file: string,
  write: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const partial = `${file}.${process.pid}.partial`
  const handle = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new CommandError(`cannot write ${file}: ${(error as Error).message}`, { cause: error })
  })
  try {
    await write(handle)
    await handle.sync()
    await handle.close()
    await rename(partial, file)
  } catch (error) {
    await handle.close().catch(() => {})
    rmSync(partial, { force: true })
    throw error
  }
}

/** @throws {CommandError} when the name is taken and not to be replaced, or is one of the database's. */
export function assertReplaceable(file: string, force: boolean, database: string): void {
  // One that is not there now is made, or removed, by the next program that opens the database.
  if (isSideFile(file, database)) throw new CommandError(`${file} belongs to the database`)
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) return
  if (!force) throw new CommandError(`${file} exists; --force replaces it`)
  const { dev, ino } = statSync(database)
  if (stat.dev === dev && stat.ino === ino) throw new CommandError(`${file} is the database itself`)
  if (!stat.isFile()) throw new CommandError(`${file} is not a regular file`)
}

function isSideFile(file: string, database: string): boolean {
  const { dir, base } = path.parse(path.resolve(file))
  const real = path.parse(realpathSync(database))
  if (!['-wal', '-shm', '-journal'].some((suffix) => base === real.base + suffix)) return false
  const [one, other] = [statSync(dir, { throwIfNoEntry: false }), statSync(real.dir)]
  return one?.dev === other.dev && one.ino === other.ino
}

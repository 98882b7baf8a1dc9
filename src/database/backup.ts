import fs from 'node:fs'
import path from 'node:path'

import { CannotOpenError, InvalidInputError } from '../errors.ts'

/** How `maintenance.backup` treats what stands at its target, and when it stops. */
export interface BackupOptions {
  /** Whether a file that stands at the target is replaced; otherwise that is an error. */
  readonly overwrite?: boolean
  /** Stops waiting at once, with the signal's reason; nothing is left at the target. */
  readonly signal?: AbortSignal
}

/**
 * Has `copyTo` copy the file, and puts the copy at the target when it is complete, in one step. It is
 * owner-only.
 * @throws {InvalidInputError} when something stands at the target already, or would belong to the source.
 * @throws {CannotOpenError} when the target's folder cannot be written.
 */
export async function backupFile(
  source: string,
  target: string,
  { overwrite = false }: BackupOptions,
  copyTo: (partial: string) => Promise<void>,
): Promise<void> {
  const destination = path.resolve(target)
  assertFree(source, destination, overwrite)
  const partial = `${destination}.${process.pid}-${Date.now()}.partial`
  createOwnerOnly(partial)
  try {
    await copyTo(partial)
    if (overwrite) fs.renameSync(partial, destination)
    else fs.linkSync(partial, destination)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new InvalidInputError('path', `names a file that exists: ${destination}`, {
      cause: error,
    })
  } finally {
    for (const name of [partial, `${partial}-journal`]) fs.rmSync(name, { force: true })
  }
}

function assertFree(source: string, destination: string, overwrite: boolean): void {
  // Whatever stood there would be taken for a part of the source, or replace one that is in use.
  if (['-wal', '-shm', '-journal'].some((suffix) => isSame(destination, source + suffix))) {
    throw new InvalidInputError('path', 'is where SQLite keeps a side file of the one to be copied')
  }
  const existing = fs.statSync(destination, { throwIfNoEntry: false })
  if (!existing) return
  const live = fs.statSync(source)
  if (existing.dev === live.dev && existing.ino === live.ino) {
    throw new InvalidInputError('path', 'is the file that is to be copied')
  }
  if (!overwrite) throw new InvalidInputError('path', `names a file that exists: ${destination}`)
  if (!existing.isFile()) throw new InvalidInputError('path', `is not a file: ${destination}`)
}

/** Whether both names mean one place, whatever stands there. */
function isSame(one: string, other: string): boolean {
  if (path.basename(one) !== path.basename(other)) return false
  const [a, b] = [one, other].map((name) =>
    fs.statSync(path.dirname(name), { throwIfNoEntry: false }),
  )
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino
}

/** Before SQLite opens it, so that it never has other rights. */
function createOwnerOnly(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, 'wx', 0o600))
  } catch (error) {
    throw new CannotOpenError(file, (error as Error).message, { cause: error })
  }
}

import fs from 'node:fs'
import path from 'node:path'

import { CannotOpenError, InvalidInputError } from '../errors.ts'
import { runFileTask } from './file-task.ts'
import type { Logger } from './logger.ts'

export interface BackupOptions {
  /** Whether a file that stands at the target is replaced; otherwise that is an error. */
  readonly overwrite?: boolean
  /** Stops waiting at once, with the signal's reason; nothing is left at the target. */
  readonly signal?: AbortSignal
}

/**
 * Copies the file as it is at one moment, while others go on writing. The copy is owner-only and
 * appears at the target when it is complete, in one step.
 * @throws {InvalidInputError} when something stands at the target already.
 * @throws {CannotOpenError} when the target's folder cannot be written.
 */
export async function backupFile(
  source: string,
  target: string,
  { overwrite = false, signal }: BackupOptions,
  logger: Logger,
): Promise<void> {
  const destination = path.resolve(target)
  assertFree(source, destination, overwrite)
  const partial = `${destination}.${process.pid}-${Date.now()}.partial`
  createOwnerOnly(partial)
  try {
    await runFileTask({ kind: 'backup', path: source, target: partial }, logger, signal)
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
  const existing = fs.statSync(destination, { throwIfNoEntry: false })
  if (!existing) return
  const live = fs.statSync(source)
  if (existing.dev === live.dev && existing.ino === live.ino) {
    throw new InvalidInputError('path', 'is the file that is to be copied')
  }
  if (!overwrite) throw new InvalidInputError('path', `names a file that exists: ${destination}`)
  if (!existing.isFile()) throw new InvalidInputError('path', `is not a file: ${destination}`)
}

/** Before SQLite opens it, so that it never has other rights. */
function createOwnerOnly(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, 'wx', 0o600))
  } catch (error) {
    throw new CannotOpenError(file, (error as Error).message, { cause: error })
  }
}

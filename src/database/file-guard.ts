import fs from 'node:fs'

import { FileMovedError } from '../errors.ts'

/**
 * Notices that the file a store has open is no longer the one at its path. SQLite does not: it would
 * go on writing into a file that nobody can find any more.
 */
export class FileGuard {
  readonly #path: string
  readonly #identity: string | undefined
  /** The WAL stays the same file for as long as anybody has the database open. */
  #walIdentity: string | undefined

  constructor(path: string) {
    this.#path = path
    this.#identity = identityOf(path)
  }

  /** @throws {FileMovedError} when the file was deleted, moved or replaced. */
  assertFileInPlace(): void {
    if (identityOf(this.#path) !== this.#identity) throw new FileMovedError(this.#path)
  }

  isWalInPlace(): boolean {
    const identity = identityOf(`${this.#path}-wal`)
    this.#walIdentity ??= identity
    return identity === this.#walIdentity
  }
}

function identityOf(path: string): string | undefined {
  // Elsewhere an open file cannot be moved, and its number does not fit a JavaScript number.
  if (process.platform === 'win32') return undefined
  const stat = fs.statSync(path, { throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}

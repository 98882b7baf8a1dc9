import fs from 'node:fs'

import { FileMovedError } from '../errors.ts'

/**
 * Notices that the file a store has open is no longer the one at its path. SQLite does not: it would
 * go on writing into a file that nobody can find any more.
 */
export class FileGuard {
  readonly #path: string
  readonly #file: PlaceWatch
  /** The WAL stays the same file for as long as anybody has the database open. */
  #wal: PlaceWatch | undefined

  constructor(path: string) {
    this.#path = path
    this.#file = new PlaceWatch(path)
  }

  /** @throws {FileMovedError} when the file was deleted, moved or replaced. */
  assertFileInPlace(): void {
    if (!this.#file.isInPlace()) throw new FileMovedError(this.#path)
  }

  isWalInPlace(): boolean {
    this.#wal ??= new PlaceWatch(`${this.#path}-wal`)
    return this.#wal.isInPlace()
  }
}

const DESCRIPTORS = '/proc/self/fd'

/** How long the name of an open descriptor is trusted without a look at the file itself. */
const STAT_EVERY_MS = 1000

/**
 * Whether a file that this process has open is still the one at its path. Asked after every commit,
 * and a stat there costs the next commit a seventh of its time: Linux then has to write the file's
 * times as well as its data. The name of a descriptor tells the same and touches nothing.
 */
class PlaceWatch {
  readonly #path: string
  readonly #identity: string | undefined
  #descriptor: Descriptor | undefined
  #statAt = -Infinity

  constructor(path: string) {
    this.#path = path
    this.#identity = identityOf(path)
    this.#descriptor = descriptorOf(path)
  }

  isInPlace(): boolean {
    const now = performance.now()
    const descriptor = this.#descriptor
    if (descriptor && now - this.#statAt < STAT_EVERY_MS && isUnchanged(descriptor)) return true
    this.#statAt = now
    if (identityOf(this.#path) !== this.#identity) return false
    // Its number may since have been given to another file.
    if (!descriptor || !isUnchanged(descriptor)) this.#descriptor = descriptorOf(this.#path)
    return true
  }
}

interface Descriptor {
  readonly link: string
  readonly target: string
}

function isUnchanged({ link, target }: Descriptor): boolean {
  return readLink(link) === target
}

/** A descriptor this process has of the file; undefined where the system does not list them (not Linux). */
function descriptorOf(path: string): Descriptor | undefined {
  let target: string
  let names: string[]
  try {
    target = fs.realpathSync(path)
    names = fs.readdirSync(DESCRIPTORS)
  } catch {
    return undefined // the stat then decides alone
  }
  const links = names.map((name) => `${DESCRIPTORS}/${name}`)
  const link = links.find((candidate) => readLink(candidate) === target)
  return link === undefined ? undefined : { link, target }
}

function readLink(link: string): string | undefined {
  try {
    return fs.readlinkSync(link)
  } catch {
    return undefined // closed meanwhile
  }
}

function identityOf(path: string): string | undefined {
  // Elsewhere an open file cannot be moved, and its number does not fit a JavaScript number.
  if (process.platform === 'win32') return undefined
  const stat = fs.statSync(path, { throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import { CannotOpenError, InvalidInputError } from '../errors.ts'

const OWNER_ONLY_FILE = 0o600
const OWNER_ONLY_FOLDER = 0o700

/** `$HERMES_HOME/state.db`, else where Hermes keeps it on this system. Read at each call (spec §1). */
export function defaultStatePath(env: NodeJS.ProcessEnv = process.env): string {
  if (env['HERMES_HOME']) return path.join(env['HERMES_HOME'], 'state.db')
  if (process.platform === 'win32' && env['LOCALAPPDATA']) {
    return path.join(env['LOCALAPPDATA'], 'hermes', 'state.db')
  }
  return path.join(os.homedir(), '.hermes', 'state.db')
}

/**
 * The absolute path to open, that of the target when it is a symbolic link.
 * @throws {InvalidInputError} for an empty path, that of a folder, `:memory:`, a `file:` URI or a NUL in
 *   the path.
 */
export function resolveStatePath(given: string | undefined): string {
  if (given === undefined) return behindLink(path.resolve(defaultStatePath()))
  if (typeof given !== 'string') throw new InvalidInputError('path', 'must be a string')
  if (given.trim() === '') throw new InvalidInputError('path', 'is empty')
  if (given.includes('\0')) throw new InvalidInputError('path', 'contains a NUL character')
  if (given.endsWith('/') || given.endsWith(path.sep)) {
    throw new InvalidInputError('path', `must name a file, not a folder: ${given}`)
  }
  if (given.startsWith('file:')) {
    throw new InvalidInputError('path', `must be a plain path, not a URI: ${given}`)
  }
  if (given === ':memory:') {
    throw new InvalidInputError('path', 'must name a file: the store opens it more than once')
  }
  return behindLink(path.resolve(given))
}

/** SQLite keeps its side files beside the file itself, not beside a link to it. */
function behindLink(file: string): string {
  try {
    return fs.lstatSync(file).isSymbolicLink() ? fs.realpathSync(file) : file
  } catch {
    // Nothing there, or hidden from us: what comes next tells which.
    return file
  }
}

/**
 * Makes sure an owner-only file stands at `file`, parent folders included; an existing file's mode
 * is narrowed by path. A second descriptor on a live database must never be opened and closed here:
 * POSIX would drop every lock this process holds on it.
 * @throws {CannotOpenError} for a folder, a special file, or when the system refuses.
 */
export function createOwnerOnly(file: string): void {
  try {
    createFolder(path.dirname(file))
    // "wx" opens nothing when the file exists already.
    const isNew = created(() => fs.closeSync(fs.openSync(file, 'wx', OWNER_ONLY_FILE)))
    // A strict umask takes rights from the owner, too.
    if (isNew) fs.chmodSync(file, OWNER_ONLY_FILE)
  } catch (error) {
    throw new CannotOpenError(file, (error as Error).message, { cause: error })
  }
  narrowModes(file)
}

/** One level at a time, because each needs its owner's rights before the next can be made in it. */
function createFolder(folder: string): void {
  if (fs.existsSync(folder)) return
  createFolder(path.dirname(folder))
  const isNew = created(() => fs.mkdirSync(folder, OWNER_ONLY_FOLDER))
  if (isNew) fs.chmodSync(folder, OWNER_ONLY_FOLDER)
}

/** Whether `create` made it; false when another process was faster. */
function created(create: () => void): boolean {
  try {
    create()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Takes group and others' rights from the database and its side files, where this user may. */
export function narrowModes(file: string): void {
  for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    try {
      const { mode } = fs.statSync(name)
      if ((mode & 0o077) !== 0) fs.chmodSync(name, mode & 0o700)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? ''
      if (!['ENOENT', 'EPERM', 'EACCES', 'EROFS'].includes(code)) throw error
    }
  }
}

export interface FileFacts {
  readonly exists: boolean
  readonly bytes: number
}

/** @throws {CannotOpenError} when something stands at the path that cannot be a database file. */
export function inspectFile(file: string): FileFacts {
  let stat: fs.Stats
  try {
    stat = fs.statSync(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !isLink(file)) return { exists: false, bytes: 0 }
    if (code === 'ENOENT') throw new CannotOpenError(file, 'it is a link that leads to no file')
    throw new CannotOpenError(file, message, { cause: error })
  }
  if (stat.isDirectory()) throw new CannotOpenError(file, 'it is a folder')
  if (!stat.isFile()) throw new CannotOpenError(file, 'it is not a regular file')
  return { exists: true, bytes: stat.size }
}

function isLink(file: string): boolean {
  return fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

/** Whether this user may write both the file and its folder, where SQLite puts its WAL. */
export function assertWritable(file: string): void {
  for (const [target, what] of [
    [file, 'the file'],
    [path.dirname(file), 'its folder'],
  ] as const) {
    try {
      fs.accessSync(target, fs.constants.W_OK)
    } catch (error) {
      throw new CannotOpenError(file, `${what} cannot be written`, { cause: error })
    }
  }
}

/** What SQLite leaves unsaid when it is "unable to open database file"; undefined when nothing is in its way. */
export function whyCannotOpen(file: string): string | undefined {
  if (!isAllowed(file, fs.constants.R_OK)) return 'it cannot be read by this user'
  const folder = path.dirname(file)
  // Without a WAL the rights on the folder would not matter to a reader.
  return isAllowed(folder, fs.constants.W_OK) ? undefined : needsSideFiles(folder)
}

/** Even a reader makes the WAL and its index when they are missing. */
export function needsSideFiles(folder: string): string {
  return (
    'a file in WAL mode can only be read where its -wal and -shm files are or can be made, and ' +
    `${folder} cannot be written; copy the file to another folder, or make that one writable`
  )
}

function isAllowed(target: string, right: number): boolean {
  try {
    fs.accessSync(target, right)
    return true
  } catch {
    return false
  }
}

import fs from 'node:fs'

import type { LockHolder } from '../errors.ts'

/** Where SQLite takes its write lock: a byte of the WAL index, or of the file in rollback mode. */
const WAL_WRITE_LOCK = 120
const RESERVED_LOCK = 0x40000001

/**
 * The process that holds the write lock, read from Linux's lock table; undefined elsewhere, when it
 * has let go meanwhile, or when it is this process, whose locks another connection here holds.
 */
export function findLockHolder(path: string): LockHolder | undefined {
  let table: string
  try {
    table = fs.readFileSync('/proc/locks', 'utf8')
  } catch {
    return undefined // best effort: no such table on this system
  }
  const pid = holderOf(table, `${path}-shm`, WAL_WRITE_LOCK) ?? holderOf(table, path, RESERVED_LOCK)
  return pid === undefined ? undefined : { pid, command: commandOf(pid) }
}

/** A line reads `1: POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 120`: pid, device:inode, range. */
function holderOf(table: string, file: string, byte: number): number | undefined {
  const inode = fs.statSync(file, { throwIfNoEntry: false })?.ino
  if (inode === undefined) return undefined
  for (const line of table.split('\n')) {
    const match = /WRITE (\d+) \S+:(\d+) (\d+) (\d+|EOF)$/.exec(line.trim())
    if (!match || Number(match[2]) !== inode) continue
    const last = match[4] === 'EOF' ? Infinity : Number(match[4])
    if (Number(match[3]) <= byte && byte <= last) return Number(match[1])
  }
  return undefined
}

function commandOf(pid: number): string | undefined {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return undefined // it has ended, or is another user's
  }
}

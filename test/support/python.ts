import { spawnSync } from 'node:child_process'
import { startProcess } from './child.ts'
import type { ProcessOptions, RunningProcess } from './child.ts'

let found: boolean | undefined

/** Whether this machine has `python3` with its `sqlite3` module. */
export function hasPython(): boolean {
  found ??= spawnSync('python3', ['-c', 'import sqlite3']).status === 0
  return found
}

/** The `skip` of a test that needs Python: the reason where there is none. */
export function skipWithoutPython(): string | false {
  return hasPython() ? false : 'NOT TESTED: needs python3 with the sqlite3 module'
}

/** Starts a Python script given as text; its arguments begin at `sys.argv[1]`. */
export function startPython(
  script: string,
  args: string[] = [],
  options: ProcessOptions = {},
): RunningProcess {
  return startProcess('python3', ['-u', '-c', script, ...args], options)
}

/**
 * Runs a Python script to its end and returns what it printed.
 * @throws when it fails, with its traceback.
 */
export async function runPython(
  script: string,
  args: string[] = [],
  options: ProcessOptions = {},
): Promise<string> {
  await using running = startPython(script, args, { input: '', ...options })
  const { code } = await running.exited
  if (code !== 0) throw new Error(`python3 exited with ${code}:\n${running.stderr}`)
  return running.stdout
}

/** The values of an output that holds one JSON document a line. */
export function jsonLines<T>(output: string): T[] {
  return output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T)
}

/** Makes a database at `argv[1]` from the DDL on standard input. */
export const pythonCreate = `
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
conn.execute("PRAGMA journal_mode=WAL")
conn.executescript(sys.stdin.read())
conn.close()
`

/** One line a committed message. */
export interface PythonWrite {
  id: number
  content: string
}

/**
 * Writes as the Python agent of version 11 does (spec §5): arguments are the file, a session id, how many messages, and
 * optionally how many ms to wait between them. It prints a \`PythonWrite\` line after each commit. Unlike the agent it
 * also retries opening, which there may fail while another process changes the journal mode.
 */
export const pythonWriter = `
import json, random, sqlite3, sys, time

path, session, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
pause = float(sys.argv[4]) / 1000 if len(sys.argv) > 4 else 0

def patiently(work):
    for attempt in range(15):
        try:
            return work()
        except sqlite3.OperationalError as error:
            text = str(error).lower()
            if attempt == 14 or not ("locked" in text or "busy" in text):
                raise
        time.sleep(random.uniform(0.020, 0.150))

conn = sqlite3.connect(path, timeout=1.0, isolation_level=None)
patiently(lambda: conn.execute("PRAGMA journal_mode=WAL"))
conn.execute("PRAGMA foreign_keys=ON")

def transaction(work):
    def attempt():
        conn.execute("BEGIN IMMEDIATE")
        try:
            result = work()
            conn.execute("COMMIT")
            return result
        except BaseException:
            try:
                conn.execute("ROLLBACK")
            except sqlite3.Error:
                pass
            raise
    return patiently(attempt)

def append(content):
    now = time.time()
    conn.execute(
        "INSERT OR IGNORE INTO sessions (id, source, started_at) VALUES (?, 'cli', ?)",
        (session, now),
    )
    row = conn.execute(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
        (session, content, now),
    ).lastrowid
    conn.execute(
        "UPDATE sessions SET message_count = message_count + 1 WHERE id = ?", (session,)
    )
    return row

for n in range(1, count + 1):
    content = f"python {session} {n}"
    row = transaction(lambda: append(content))
    print(json.dumps({"id": row, "content": content}), flush=True)
    if n % 50 == 0:
        try:
            conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error:
            pass
    if pause:
        time.sleep(pause)
conn.close()
`

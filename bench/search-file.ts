import { existsSync, renameSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import SqliteDatabase from 'better-sqlite3'

import { openStore } from '../src/index.ts'
import { benchMessage } from './search-corpus.ts'

const MESSAGES_PER_SESSION = 100
const MESSAGES_PER_TRANSACTION = 10_000
const SOURCES = ['telegram', 'telegram', 'telegram', 'discord', 'cli']
export const FIRST_TIME = 1_700_000_000
export const SECONDS_PER_MESSAGE = 60

/** The file for a number of messages; made at first use (a million takes minutes), kept for the next run. */
export async function searchFile(messages: number): Promise<string> {
  const file = path.join(os.tmpdir(), `hermes-bench-search-v2-${messages}.db`)
  if (existsSync(file)) return file
  const unfinished = `${file}.${process.pid}`
  for (const end of ['', '-wal', '-shm']) rmSync(unfinished + end, { force: true })
  await (await openStore({ path: unfinished })).close()
  fill(unfinished, messages)
  renameSync(unfinished, file)
  return file
}

function fill(file: string, messages: number): void {
  const db = new SqliteDatabase(file)
  try {
    db.pragma('synchronous = OFF')
    const addSession = db.prepare('insert into sessions (id, source, started_at) values (?, ?, ?)')
    const addMessage = db.prepare(
      `insert into messages (session_id, role, content, tool_name, tool_calls, timestamp)
       values (?, ?, ?, ?, ?, ?)`,
    )
    const random = pseudoRandom(42)
    const addSome = db.transaction((from: number, to: number) => {
      for (let index = from; index < to; index += 1) {
        const number = Math.floor(index / MESSAGES_PER_SESSION)
        const session = `session-${number}`
        const at = FIRST_TIME + index * SECONDS_PER_MESSAGE
        const source = SOURCES[number % SOURCES.length]
        if (index % MESSAGES_PER_SESSION === 0) addSession.run(session, source, at)
        const { role, content, toolName, toolCalls } = benchMessage(random, index)
        addMessage.run(session, role, content, toolName, toolCalls, at)
      }
    })
    for (let from = 0; from < messages; from += MESSAGES_PER_TRANSACTION) {
      addSome(from, Math.min(messages, from + MESSAGES_PER_TRANSACTION))
    }
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/** The same numbers in every run: a linear congruential generator. */
function pseudoRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

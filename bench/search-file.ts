import { existsSync, renameSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import SqliteDatabase from 'better-sqlite3'

import { openStore } from '../src/index.ts'

export const RARE_WORD = 'quokka'
/** In about a third of the messages. */
export const COMMON_WORD = 'server'

const MESSAGES_PER_SESSION = 100
const RARE_EVERY = 20_000
const CJK_EVERY = 8
const COMMON_WORDS = ['the', 'deploy', COMMON_WORD, 'please', 'check', 'error', 'log', 'build']
const CJK_PHRASES = [
  '大别山项目',
  '部署进度',
  '广西和桂林',
  '漓江很美',
  '東京タワー',
  '서울타워',
  '天气',
  '项目',
]

/** The file for a number of messages; made at first use, kept in the temporary folder for the next run. */
export async function searchFile(messages: number): Promise<string> {
  const file = path.join(os.tmpdir(), `hermes-bench-search-v1-${messages}.db`)
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
      'insert into messages (session_id, role, content, timestamp) values (?, ?, ?, ?)',
    )
    const random = pseudoRandom(42)
    db.transaction(() => {
      for (let index = 0; index < messages; index += 1) {
        const session = `session-${Math.floor(index / MESSAGES_PER_SESSION)}`
        const at = 1_770_000_000 + index
        if (index % MESSAGES_PER_SESSION === 0) addSession.run(session, 'telegram', at)
        addMessage.run(session, index % 2 ? 'assistant' : 'user', sentence(random, index), at)
      }
    })()
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

function sentence(random: () => number, index: number): string {
  const words = Array.from({ length: 25 }, () => {
    if (random() < 0.2) return COMMON_WORDS[Math.floor(random() ** 3 * COMMON_WORDS.length)]
    return `word${Math.floor(random() ** 2 * 30_000)}`
  })
  if (index % RARE_EVERY === 7) words[3] = RARE_WORD
  if (index % CJK_EVERY === 0) words[5] = CJK_PHRASES[Math.floor(random() * CJK_PHRASES.length)]
  return words.join(' ')
}

/** The same numbers in every run: a linear congruential generator. */
function pseudoRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

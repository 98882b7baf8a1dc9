import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'

import { openStore, type Store } from '../../src/index.ts'
import { skipWithoutPython, startPython } from '../support/python.ts'
import type { RunningProcess } from '../support/child.ts'
import { copyFixture, withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

const skip = skipWithoutPython()

/**
 * The agent's SQLite, in plain SQL: reads one JSON list of statements a line and runs them as one
 * transaction; answers with one JSON line. A content that is no text is stored as the agent stores it.
 */
const tenant = `
import json, sqlite3, sys
conn = sqlite3.connect(sys.argv[1], timeout=5.0, isolation_level=None)
conn.execute("PRAGMA foreign_keys=ON")

def stored(value):
    return "\\x00json:" + json.dumps(value) if isinstance(value, (list, dict)) else value

for line in sys.stdin:
    try:
        conn.execute("BEGIN IMMEDIATE")
        rows = []
        for sql, *values in json.loads(line):
            rows = conn.execute(sql, [stored(value) for value in values]).fetchall()
        conn.execute("COMMIT")
        print("answer " + json.dumps({"rows": rows}), flush=True)
    except sqlite3.Error as error:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        print("answer " + json.dumps({"error": repr(error)}), flush=True)
`

type Statement = [sql: string, ...values: unknown[]]

class Tenant {
  readonly #process: RunningProcess
  constructor(file: string) {
    this.#process = startPython(tenant, [file])
  }

  async run(...statements: Statement[]): Promise<unknown[][]> {
    this.#process.write(JSON.stringify(statements))
    const line = await this.#process.waitForOutput(/answer .*\n/)
    const answer = JSON.parse(line.slice('answer '.length)) as { rows: unknown[][]; error?: string }
    if (answer.error !== undefined) throw new Error(`the agent failed: ${answer.error}`)
    return answer.rows
  }

  /** Throws when an index is not what the agent's SQLite thinks it must be. */
  async checkIndexes(): Promise<void> {
    for (const index of ['messages_fts', 'messages_fts_trigram']) {
      await this.run([`INSERT INTO ${index}(${index}) VALUES ('integrity-check')`])
    }
    const [counts] = await this.run([
      `SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM messages_fts),
              (SELECT count(*) FROM messages_fts_trigram)`,
    ])
    assert.equal(new Set(counts).size, 1, `rows and indexed rows: ${String(counts)}`)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }
}

const INSERT = `INSERT INTO messages (session_id, role, content, tool_calls, timestamp)
  VALUES (?, 'user', ?, ?, 1.5)`

const CONTENTS = [
  'plain words about a deployment',
  '部署进度如何？广西 桂林 漓江的夜',
  [{ type: 'text', text: 'what is in this zebra picture?' }],
  [
    { type: 'text', text: '漓江的夜' },
    { type: 'image_url', image_url: { url: 'data:,' } },
  ],
  { answer: 42 },
  [],
  'ends at once\0 and goes on',
  '桂林山水甲天下\0漓江的夜\0',
  '\0',
  '',
  null,
]

const SESSIONS = ['one', 'two', 'three', 'four']

for (const seed of [1, 2, 3]) {
  test(
    `both keep the indexes whole while they write in turn (seed ${seed})`,
    { skip },
    async (t) => {
      await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })
      await using agent = new Tenant(store.path)
      const pick = picker(seed)
      for (const id of SESSIONS) await store.sessions.ensure(id)

      for (let step = 0; step < 60; step += 1) {
        const session = pick(SESSIONS)
        await (pick([true, false]) ? ours(store, session, pick) : theirs(agent, session, pick))
        if (step % 10 === 9) await agent.checkIndexes()
      }

      const [[agentCount] = []] = await agent.run(['SELECT count(*) FROM messages'])
      assert.equal(await store.messages.count(), agentCount)
      await clearInTurn(store, agent)
      assertEmptyIndexes(store.path)
    },
  )
}

test(
  'a file that the agent filled is emptied by us, and the agent goes on',
  { skip },
  async (t) => {
    await using store = await openStore({ path: copyFixture(t, 'v11') })
    await using agent = new Tenant(store.path)
    const sessions = await store.sessions.recent({ limit: -1 })

    for (const { id } of sessions) await store.sessions.delete(id)

    await agent.checkIndexes()
    assertEmptyIndexes(store.path)
    await agent.run(
      [`INSERT INTO sessions (id, source, started_at) VALUES ('new', 'cli', 1)`],
      [INSERT, 'new', [{ type: 'text', text: 'again' }], null],
      [INSERT, 'new', 'plain', null],
    )
    await agent.run(['DELETE FROM messages'])
    await agent.checkIndexes()
  },
)

test('the agent goes on with a file that we have upgraded', { skip }, async (t) => {
  const file = copyFixture(t, 'v8')
  withFile(file, (db) => {
    const insert = db.prepare(
      `insert into messages (session_id, role, content, timestamp)
       values ((select min(id) from sessions), 'user', ?, 1)`,
    )
    for (const text of ['\0json:[{"text": "漓江的夜"}]', 'abcdef\0ghijkl', '\0\0abcdef'])
      insert.run(text)
  })
  await using _store = await openStore({ path: file })
  await using agent = new Tenant(file)

  await agent.checkIndexes()
  const find = `SELECT count(*) FROM messages_fts_trigram WHERE messages_fts_trigram MATCH '漓江的'`
  assert.deepEqual(await agent.run([find]), [[1]])
  await agent.run(['DELETE FROM messages'])
  await agent.checkIndexes()
  assertEmptyIndexes(file)
})

test('the agent finds what we wrote, and nothing once it has deleted it', { skip }, async (t) => {
  await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })
  await using agent = new Tenant(store.path)
  await store.sessions.ensure('s')
  const find = (): Promise<unknown[][]> =>
    agent.run([`SELECT rowid FROM messages_fts_trigram WHERE messages_fts_trigram MATCH '漓江的'`])
  const id = await store.messages.append('s', {
    role: 'user',
    content: [{ type: 'text', text: '漓江的夜' }],
  })

  assert.deepEqual(await find(), [[id]])
  await agent.run(['DELETE FROM messages WHERE id = ?', id])
  assert.deepEqual(await find(), [])
  await agent.checkIndexes()
})

async function ours(store: Store, session: string, pick: Picker): Promise<void> {
  const some = Array.from({ length: pick([1, 2, 5]) }, () => ({
    role: 'user',
    content: pick(CONTENTS),
    ...(pick([true, false]) && { toolName: pick(['terminal', 'a\0b']) }),
  }))
  switch (pick(['append', 'appendMany', 'replaceAll', 'clear', 'delete'])) {
    case 'append':
      await store.messages.append(session, some[0]!)
      break
    case 'replaceAll':
      await store.messages.replaceAll(session, some)
      break
    case 'clear':
      await store.messages.clear(session)
      break
    case 'delete':
      await store.sessions.delete(session)
      await store.sessions.ensure(session)
      break
    default:
      await store.messages.appendMany(session, some)
  }
}

async function theirs(agent: Tenant, session: string, pick: Picker): Promise<void> {
  const insert = (): Statement => [
    INSERT,
    session,
    pick(CONTENTS),
    pick([null, '[{"id": "漓江的"}]']),
  ]
  const remove: Statement = ['DELETE FROM messages WHERE session_id = ?', session]
  switch (pick(['insert', 'insert', 'insert', 'update', 'delete', 'replace'])) {
    case 'update':
      await agent.run([
        'UPDATE messages SET content = ? WHERE session_id = ? AND id % 2 = 0',
        pick(CONTENTS),
        session,
      ])
      break
    case 'delete':
      await agent.run(['DELETE FROM messages WHERE session_id = ? AND id % 3 = 0', session])
      break
    case 'replace':
      await agent.run(remove, insert(), insert())
      break
    default:
      await agent.run(insert(), insert())
  }
}

async function clearInTurn(store: Store, agent: Tenant): Promise<void> {
  for (const [index, session] of SESSIONS.entries()) {
    if (index % 2 === 0) await store.messages.clear(session)
    else await agent.run(['DELETE FROM messages WHERE session_id = ?', session])
    await agent.checkIndexes()
  }
}

/** Nothing is left, not even in the counts that FTS5 keeps: they are two zeros. */
function assertEmptyIndexes(file: string): void {
  withFile(file, (db) => {
    for (const index of ['messages_fts', 'messages_fts_trigram']) {
      db.prepare(`insert into ${index}(${index}) values ('integrity-check')`).run()
      const totals = db.prepare(`select hex(block) from ${index}_data where id = 1`).pluck().get()
      assert.equal(totals, '0000', index)
    }
  })
}

type Picker = <T>(choices: readonly T[]) => T

/** The same choices for the same seed. */
function picker(seed: number): Picker {
  let state = seed
  return (choices) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return choices[Math.floor((state / 2 ** 32) * choices.length)]!
  }
}

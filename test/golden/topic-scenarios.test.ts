import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'

import { openStore, SessionBoundError, SessionNotFoundError, type Store } from '../../src/index.ts'
import { readGolden } from '../support/golden-cases.ts'
import { withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

interface Call {
  /** When it was made, in seconds. */
  t: number
  call: string
  args: (string | number | null)[]
  kwargs: Record<string, string | number | boolean | null>
  result?: unknown
  error?: { type: string; message: string }
}

interface Scenario {
  name: string
  ops: Call[]
  dump: Record<string, object[]>
}

const scenarios = readGolden('scenarios') as Scenario[]

for (const name of ['telegram topics', 'meta']) {
  test(`does what the agent did in the scenario "${name}"`, async (t) => {
    const scenario = scenarios.find((one) => one.name === name)
    assert.ok(scenario)
    const file = path.join(tempFolder(t), 'state.db')
    await using store = await openStore({ path: file })
    let now = 0
    t.mock.method(Date, 'now', () => now)

    for (const recorded of scenario.ops) {
      now = recorded.t * 1000
      const label = JSON.stringify(recorded)
      const outcome = await perform(store, recorded).catch((error: unknown) => {
        if (!recorded.error) throw error
        return toAgentError(error)
      })
      assert.deepEqual(outcome, recorded.error ?? recorded.result, label)
    }

    for (const [table, rows] of Object.entries(scenario.dump)) {
      const columns = Object.keys(rows[0] ?? { count: 0 }).join(', ')
      if (rows.length === 0) continue
      const stored = withFile(file, (db) => db.prepare(`select ${columns} from ${table}`).all())
      assert.deepEqual(stored, rows, table)
    }
  })
}

test('the topic tables are those the agent makes', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using store = await openStore({ path: file })

  await store.telegramTopics.ensureTables()

  const made = withFile(file, (db) =>
    db
      .prepare(
        `select type, name, tbl_name, sql from sqlite_master
         where tbl_name like 'telegram%' and sql is not null order by type, name`,
      )
      .all(),
  )
  const schema = readGolden('schema') as { after_telegram_migration: object[] }
  assert.deepEqual(made, schema.after_telegram_migration)
})

async function perform(store: Store, { call, args, kwargs }: Call): Promise<unknown> {
  const topics = store.telegramTopics
  const text = (name: string): string => String(kwargs[name])
  switch (call) {
    case 'create_session':
      return store.sessions.create({
        id: String(args[0]),
        source: String(args[1]),
        userId: text('user_id'),
      })
    case 'append_message':
      return store.messages.append(String(args[0]), {
        role: String(args[1]),
        content: text('content'),
      })
    case 'delete_session':
      return store.sessions.delete(String(args[0]))
    case 'get_meta':
      return store.meta.get(String(args[0]))
    case 'set_meta':
      return orNull(store.meta.set(String(args[0]), args[1] ?? null))
    case 'apply_telegram_topic_migration':
      return orNull(topics.ensureTables())
    case 'enable_telegram_topic_mode':
      return orNull(
        topics.enable({
          chatId: text('chat_id'),
          userId: text('user_id'),
          hasTopicsEnabled: flag(kwargs['has_topics_enabled']),
          allowsUsersToCreateTopics: flag(kwargs['allows_users_to_create_topics']),
        }),
      )
    case 'disable_telegram_topic_mode':
      return orNull(
        topics.disable(text('chat_id'), { clearBindings: kwargs['clear_bindings'] !== false }),
      )
    case 'is_telegram_topic_mode_enabled':
      return topics.isEnabled(text('chat_id'), text('user_id'))
    case 'bind_telegram_topic':
      return orNull(
        topics.bind({
          chatId: text('chat_id'),
          threadId: text('thread_id'),
          userId: text('user_id'),
          sessionKey: text('session_key'),
          sessionId: text('session_id'),
          ...('managed_mode' in kwargs && { managedMode: text('managed_mode') }),
        }),
      )
    case 'get_telegram_topic_binding':
      return inSnakeCase(await topics.binding(text('chat_id'), text('thread_id')))
    case 'get_telegram_topic_binding_by_session':
      return inSnakeCase(await topics.bindingBySession(text('session_id')))
    case 'list_telegram_topic_bindings_for_chat':
      return (await topics.listBindings(text('chat_id'))).map(inSnakeCase)
    case 'is_telegram_session_linked_to_topic':
      return topics.isLinked(text('session_id'))
    case 'list_unlinked_telegram_sessions_for_user': {
      const limit = 'limit' in kwargs ? { limit: Number(kwargs['limit']) } : {}
      const sessions = await topics.listUnlinkedSessions({ userId: text('user_id'), ...limit })
      // Lists of ours leave the prompt out.
      return sessions.map((session) => inSnakeCase({ ...session, systemPrompt: null }))
    }
    default:
      throw new Error(`no counterpart to ${call}`)
  }
}

async function orNull(work: Promise<void>): Promise<null> {
  await work
  return null
}

function flag(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

function inSnakeCase(value: object | undefined): object | null {
  if (!value) return null
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      field,
    ]),
  )
}

function toAgentError(error: unknown): Call['error'] {
  if (error instanceof SessionBoundError) {
    return {
      type: 'ValueError',
      message: 'session is already linked to another Telegram topic',
    }
  }
  if (error instanceof SessionNotFoundError) {
    return { type: 'IntegrityError', message: 'FOREIGN KEY constraint failed' }
  }
  throw error
}

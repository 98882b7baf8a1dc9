import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'

import {
  ConstraintError,
  InvalidInputError,
  openStore,
  SessionNotFoundError,
  TitleConflictError,
  type NewSession,
  type Store,
  type Usage,
} from '../../src/index.ts'
import { toAgentRow, toOurNames } from '../support/agent-rows.ts'
import { assertGolden, readGolden } from '../support/golden-cases.ts'
import { withFile } from '../support/state-file.ts'
import { tempFolder } from '../support/temp-store.ts'

interface Call {
  /** When it was made, in seconds. */
  t: number
  call: string
  args: (string | number | null)[]
  kwargs: Record<string, unknown>
  result?: unknown
  error?: { type: string; message: string }
}

interface Scenario {
  name: string
  ops: Call[]
  dump: Record<string, object[]>
}

const scenarios = readGolden('scenarios') as Scenario[]
const titles = { name: 'titles', ...(readGolden('titles_ops') as Omit<Scenario, 'name'>) }

/** Calls in which we differ on purpose. */
const DIFFERING: Record<string, Record<string, string>> = {
  'create / ensure': {
    '3: create_session ["c",null]': 'the agent writes nothing and says nothing; we refuse it',
    '7: create_session ["f","cli"]': 'a keyword of Python; TypeScript checks the names',
    '14: append_message ["a",null]': 'refused before the database sees it',
  },
  'end / reopen': {},
  'token counts': {},
  titles: {},
}

for (const scenario of [...scenarios, titles].filter(({ name }) => name in DIFFERING)) {
  test(`does what the agent did in the scenario "${scenario.name}"`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using store = await openStore({ path: file })
    let now = 0
    t.mock.method(Date, 'now', () => now)

    const outcomes = new Map<Call, unknown>()
    for (const recorded of scenario.ops) {
      if ('bogus' in recorded.kwargs) continue
      now = recorded.t * 1000
      outcomes.set(recorded, await perform(store, file, recorded).catch(toAgentError))
    }

    assertGolden(
      scenario.ops,
      (call) => `${scenario.ops.indexOf(call)}: ${call.call} ${JSON.stringify(call.args)}`,
      (call) => assert.deepEqual(outcomes.get(call), call.error ?? call.result),
      DIFFERING[scenario.name],
    )
    const stored = withFile(file, (db) => db.prepare('select * from sessions order by rowid').all())
    assert.deepEqual(stored.map(withParsedConfig), scenario.dump['sessions']?.map(withParsedConfig))
  })
}

async function perform(store: Store, file: string, { call, args, kwargs }: Call): Promise<unknown> {
  const [id, second, third] = args as [string, string | null, string?]
  const named = toOurNames(kwargs)
  switch (call) {
    case '$sql':
      return withFile(file, (db) => db.exec(id)) && []
    case 'create_session':
      return store.sessions.create({ ...named, id, source: second } as NewSession)
    case 'ensure_session':
      return store.sessions.ensure(id, {
        ...named,
        ...(second && { source: second }),
        ...(third !== undefined && { model: third }),
      })
    case 'get_session': {
      const session = await store.sessions.find(id)
      return session ? toAgentRow(session) : null
    }
    case 'end_session':
      return orNull(store.sessions.end(id, second))
    case 'reopen_session':
      return orNull(store.sessions.reopen(id))
    case 'update_system_prompt':
      return orNull(store.sessions.setSystemPrompt(id, second))
    case 'update_token_counts': {
      const [, inputTokens = 0, outputTokens = 0] = args as [string, number?, number?]
      const { absolute, ...usage }: Usage & { absolute?: unknown } = {
        ...named,
        inputTokens,
        outputTokens,
      }
      return orNull(
        absolute ? store.sessions.setUsage(id, usage) : store.sessions.addUsage(id, usage),
      )
    }
    case 'append_message':
      return store.messages.append(id, { role: second as string, content: kwargs['content'] })
    case 'message_count':
      return args.length === 0 ? store.messages.count() : store.messages.count(id)
    case 'set_session_title':
      return store.titles.set(id, second)
    case 'get_session_title':
      return store.titles.get(id)
    case 'get_session_by_title': {
      const session = await store.titles.find(id)
      return session ? toAgentRow(session) : null
    }
    default:
      throw new Error(`no counterpart to ${call}`)
  }
}

/** The agent escapes what is not ASCII, we do not. */
function withParsedConfig(row: unknown): object {
  const { model_config, ...rest } = row as { model_config: string | null }
  return { ...rest, model_config: JSON.parse(model_config ?? 'null') as unknown }
}

async function orNull(work: Promise<void>): Promise<null> {
  await work
  return null
}

/** Our typed error in the words of the agent's. */
function toAgentError(error: unknown): Call['error'] {
  if (error instanceof SessionNotFoundError || error instanceof ConstraintError) {
    return { type: 'IntegrityError', message: 'FOREIGN KEY constraint failed' }
  }
  if (error instanceof TitleConflictError) {
    const { title, holderId } = error
    const message = `Title '${title}' is already in use by session ${holderId}`
    return { type: 'ValueError', message }
  }
  const tooLong = /Title too long .*/.exec(error instanceof InvalidInputError ? error.message : '')
  if (tooLong) return { type: 'ValueError', message: tooLong[0] }
  if (error instanceof InvalidInputError) return { type: 'InvalidInputError', message: error.field }
  throw error
}

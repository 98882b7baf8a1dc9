import assert from 'node:assert/strict'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'

import { InvalidInputError, openStore, type Store } from '../../src/index.ts'
import { importSessions, openGateway, type ImportOptions } from '../../src/gateway-adapter/index.ts'
import { copyFixture } from '../support/state-file.ts'
import { openTempStore, tempFolder } from '../support/temp-store.ts'

const accounts = { telegram: 1 }
const ada = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 5, userId: 5 }

/** An entry as v11 writes it. */
function entry(key: string, sessionId: string, more: object = {}) {
  return {
    session_key: key,
    session_id: sessionId,
    created_at: '2026-01-05T10:00:00.123456',
    updated_at: '2026-01-05T11:30:00.654321',
    display_name: null,
    platform: key.split(':')[2],
    chat_type: key.split(':')[3],
    input_tokens: 0,
    suspended: false,
    ...more,
  }
}

function origin(platform: string, chatType: string, chatId: string, more: object = {}) {
  const chat = { platform, chat_type: chatType, chat_id: chatId, chat_name: 'A chat' }
  return { origin: { ...chat, user_id: '7', user_name: 'Ada', thread_id: null, ...more } }
}

interface Given {
  store: Store
  file: string
  importing: (options?: ImportOptions) => Promise<Record<string, string>>
}

/** A store with the sessions `s1`, `s2`, … and Hermes' index beside it. */
async function given(t: TestContext, index: object): Promise<Given> {
  const store = await openTempStore(t)
  for (const id of ['s1', 's2', 's3', 's4', 's5']) {
    await store.sessions.create({ id, source: 'telegram', userId: '5' })
  }
  const file = path.join(tempFolder(t), 'sessions.json')
  writeFileSync(file, JSON.stringify(index))
  chmodSync(file, 0o400)
  const importing = async (options: ImportOptions = {}) => {
    const report = await importSessions(store, file, { accounts, ...options })
    return Object.fromEntries(report.map(({ key, outcome }) => [key, outcome]))
  }
  return { store, file, importing }
}

test('an imported chat goes on in the session that Hermes had it in', async (t) => {
  const dm = 'agent:main:telegram:dm:5'
  const topic = 'agent:main:telegram:group:-100:42'
  const { store, importing } = await given(t, {
    [dm]: entry(dm, 's1', origin('telegram', 'dm', '5', { user_id: '5' })),
    [topic]: entry(topic, 's2', origin('telegram', 'group', '-100', { thread_id: '42' })),
  })

  const report = await importing({ apply: true })

  assert.deepEqual(report, { [dm]: 'new', [topic]: 'new' })
  const gateway = await openGateway(store)
  const group = { ...ada, chatType: 'group', chatId: -100 }
  assert.equal((await gateway.inbound(ada, { text: 'hi', id: 1 })).lane.sessionId, 's1')
  assert.equal((await gateway.resolve({ ...group, threadId: 42 })).sessionId, 's2')
  assert.equal((await gateway.resolve({ ...group, userId: 42 })).fresh, true)
  assert.equal((await gateway.resolve({ ...ada, account: '2' })).fresh, true)
  assert.equal((await gateway.resume(ada, 's1', { scope: 'lane' }))?.lane.sessionId, 's1')
})

test('a dry run says the same and writes nothing, even to a file of Hermes that is only read', async (t) => {
  const state = copyFixture(t, 'v11')
  await using store = await openStore({ path: state, readonly: true })
  const session = await store.db.selectFrom('sessions').select('id').executeTakeFirstOrThrow()
  const key = 'agent:main:telegram:dm:5'
  const file = path.join(tempFolder(t), 'sessions.json')
  writeFileSync(file, JSON.stringify({ [key]: entry(key, session.id) }))
  const before = readFileSync(state)

  const report = await importSessions(store, file)

  assert.deepEqual(report, [{ key, sessionId: session.id, outcome: 'new' }])
  assert.deepEqual(readFileSync(state), before)
})

test('importing again does nothing, and the index is never written', async (t) => {
  const key = 'agent:main:telegram:dm:5'
  const { store, file, importing } = await given(t, { [key]: entry(key, 's1') })
  const before = { text: readFileSync(file, 'utf8'), modified: statSync(file).mtimeMs }
  const routes = () => store.db.selectFrom('store_chat_routes').selectAll().execute()

  await importing({ apply: true })
  const first = await routes()
  const again = await importing({ apply: true })

  assert.deepEqual(again, { [key]: 'same' })
  assert.equal(first.length, 1)
  assert.deepEqual(await routes(), first)
  assert.deepEqual({ text: readFileSync(file, 'utf8'), modified: statSync(file).mtimeMs }, before)
})

test('a chat that is in another session here stays in it', async (t) => {
  const key = 'agent:main:telegram:dm:5'
  const { store, importing } = await given(t, { [key]: entry(key, 's1') })
  const gateway = await openGateway(store)
  const { lane } = await gateway.inbound(ada, { text: 'hi', id: 1 })

  const report = await importing({ apply: true })

  assert.deepEqual(report, { [key]: 'taken' })
  assert.equal((await gateway.resolve(ada)).sessionId, lane.sessionId)
})

test('what cannot be taken over is reported with the reason, and the rest is taken over', async (t) => {
  const keys = {
    fine: 'agent:main:telegram:dm:5',
    gone: 'agent:main:telegram:dm:6',
    suspended: 'agent:main:telegram:dm:7',
    twoFold: 'agent:main:telegram:group:-100:42',
    colons: 'agent:main:matrix:dm:!room:server',
    shared: 'agent:main:telegram:group:-200',
    sharedOrigin: 'agent:main:telegram:group:-300',
    profile: 'agent:work:telegram:dm:8',
    note: '_README',
    odd: 'agent:main:telegram:dm:9',
  }
  const { store, importing } = await given(t, {
    [keys.fine]: entry(keys.fine, 's1'),
    [keys.gone]: entry(keys.gone, 'nowhere'),
    [keys.suspended]: entry(keys.suspended, 's2', { suspended: true }),
    [keys.twoFold]: entry(keys.twoFold, 's2'),
    [keys.colons]: entry(keys.colons, 's2'),
    [keys.shared]: entry(keys.shared, 's2'),
    [keys.sharedOrigin]: entry(keys.sharedOrigin, 's2', origin('telegram', 'group', '-300')),
    [keys.profile]: entry(keys.profile, 's2', origin('telegram', 'dm', '8')),
    [keys.note]: 'written by Hermes',
    [keys.odd]: entry(keys.odd, 's2', { origin: { platform: 5 } }),
  })

  const planned = await importing()
  const done = await importing({ apply: true })

  assert.deepEqual(planned, {
    [keys.fine]: 'new',
    [keys.gone]: 'missing',
    [keys.suspended]: 'suspended',
    [keys.twoFold]: 'ambiguous',
    [keys.colons]: 'ambiguous',
    [keys.shared]: 'unlike',
    [keys.sharedOrigin]: 'unlike',
    [keys.profile]: 'unlike',
    [keys.note]: 'unreadable',
    [keys.odd]: 'unreadable',
  })
  assert.deepEqual(done, planned)
  const routes = await store.db.selectFrom('store_chat_routes').select('session_id').execute()
  assert.deepEqual(routes, [{ session_id: 's1' }])
})

test('keys that can mean one chat only need no origin', async (t) => {
  const keys = [
    'agent:main:telegram:dm:12345:77',
    'agent:main:telegram:channel:-100300',
    'agent:main:discord:thread:600:600',
    'agent:main:slack:dm:D1',
  ]
  const { store, importing } = await given(
    t,
    Object.fromEntries(keys.map((key, n) => [key, entry(key, `s${n + 1}`)])),
  )

  const report = await importing({ apply: true })

  assert.deepEqual(report, Object.fromEntries(keys.map((key) => [key, 'new'])))
  const routes = await store.db
    .selectFrom('store_chat_routes')
    .select(['chat_id', 'thread_id', 'session_key'])
    .execute()
  assert.deepEqual(
    routes.map((route) => [route.chat_id, route.thread_id, route.session_key]),
    [
      ['12345', '77', keys[0]],
      ['-100300', '', keys[1]],
      ['600', '600', keys[2]],
      ['D1', '', keys[3]],
    ],
  )
})

test('sessions that Hermes shared otherwise can be taken over by a gateway that shares them alike', async (t) => {
  const key = 'agent:main:telegram:group:-200'
  const { importing } = await given(t, {
    [key]: entry(key, 's1', origin('telegram', 'group', '-200')),
  })

  const perPerson = await importing()
  const together = await importing({ groupSessionsPerUser: false })

  assert.deepEqual([perPerson[key], together[key]], ['unlike', 'new'])
})

test('silence counts from when Hermes last heard of the chat', async (t) => {
  const key = 'agent:main:telegram:dm:5'
  const { store, importing } = await given(t, { [key]: entry(key, 's1') })
  await importing({ apply: true })
  const resets = { default: { mode: 'idle', idleMinutes: 60 } } as const
  const gateway = await openGateway(store, { resets })

  t.mock.timers.enable({ apis: ['Date'], now: new Date('2026-01-05T12:30:00.600') })
  const before = await gateway.resolve(ada)
  t.mock.timers.tick(100)
  const after = await gateway.resolve(ada)

  assert.equal(before.sessionId, 's1')
  assert.equal(after.reset?.reason, 'idle')
})

test('a direct chat belongs to the person of its session, who finds it in every chat', async (t) => {
  const key = 'agent:main:telegram:dm:5'
  const { store, importing } = await given(t, { [key]: entry(key, 's1') })
  await importing({ apply: true })
  const gateway = await openGateway(store)
  const elsewhere = { ...ada, chatType: 'group', chatId: -100 }

  const back = await gateway.resume(elsewhere, 's1', { scope: 'user' })

  assert.equal(back?.lane.sessionId, 's1')
})

test('three hundred chats are taken over', async (t) => {
  const index = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => {
      const key = `agent:main:telegram:dm:${n + 1}`
      return [key, entry(key, 's1')]
    }),
  )
  const { store, importing } = await given(t, index)

  const report = await importing({ apply: true })

  assert.equal(Object.values(report).filter((outcome) => outcome === 'new').length, 300)
  const { count } = await store.db
    .selectFrom('store_chat_routes')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  assert.equal(count, 300)
})

test('a file that is no index is refused by name, one that is missing by the system', async (t) => {
  const store = await openTempStore(t)
  const file = path.join(tempFolder(t), 'sessions.json')
  const isInvalid = (error: unknown) => error instanceof InvalidInputError && error.field === 'file'

  await assert.rejects(importSessions(store, file), { code: 'ENOENT' })
  for (const text of ['', '{"a":', '[]', 'null', '"x"']) {
    writeFileSync(file, text)
    await assert.rejects(importSessions(store, file, { apply: true }), isInvalid)
  }
})

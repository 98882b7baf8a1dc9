import { performance } from 'node:perf_hooks'

import { openGateway, type Gateway } from '../src/gateway-adapter/index.ts'
import { openStore, type Store } from '../src/index.ts'
import type { BenchRow, BenchSuite } from './row.ts'
import { textOf, withTempFile } from './temp-file.ts'

const TEXT = textOf(1)
const HISTORY = 50
const CHATS = 64
const BUDGET_MS = 2000

/** The adapter beside the same work without it: a message appended, the history read, an answer appended. */
export const gatewaySuite: BenchSuite = { name: 'gateway', rows }

async function* rows(): AsyncGenerator<BenchRow> {
  yield* turns('full turn, one chat', 1)
  yield* turns(`full turn, ${CHATS} chats at once`, CHATS)
  yield* duplicateCheck()
}

async function* turns(name: string, chats: number): AsyncGenerator<BenchRow> {
  const ours = await onNewFile(async (store) => {
    const gateway = await openGateway(store)
    const next = ids()
    for (let chat = 1; chat <= chats; chat += 1) await fill(store, gateway, chat)
    return perSecond(chats, (chat) => gatewayTurn(gateway, chat + 1, next()))
  })
  const bare = await onNewFile(async (store) => {
    const gateway = await openGateway(store)
    const sessionIds: string[] = []
    for (let chat = 1; chat <= chats; chat += 1) sessionIds.push(await fill(store, gateway, chat))
    return perSecond(chats, (chat) => bareTurn(store, gateway, sessionIds[chat] ?? '', chat + 1))
  })
  yield {
    name: `gateway: ${name}`,
    ours,
    unit: '/s',
    against: { name: 'without claims, leases, usage', value: bare },
    note: `inbound + history of ${HISTORY} + turn`,
  }
}

async function* duplicateCheck(): AsyncGenerator<BenchRow> {
  const [fresh, duplicate, append] = await onNewFile(async (store) => {
    const gateway = await openGateway(store)
    const next = ids()
    const sessionId = await fill(store, gateway, 1)
    const take = (id: number) => gateway.inbound(sourceOf(1), { text: TEXT, id })
    return [
      await perSecond(1, () => take(next())),
      await perSecond(1, () => take(1)),
      await perSecond(1, () => store.messages.append(sessionId, { role: 'user', content: TEXT })),
    ] as const
  })
  const against = { name: 'messages.append', value: append }
  yield { name: 'gateway: inbound, new message', ours: fresh, unit: '/s', against }
  yield { name: 'gateway: inbound, delivered again', ours: duplicate, unit: '/s', against }
}

async function gatewayTurn(gateway: Gateway, chat: number, id: number): Promise<void> {
  const { lane, messageId } = await gateway.inbound(sourceOf(chat), { text: TEXT, id })
  await gateway.history(lane, { limit: HISTORY, answering: messageId })
  await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: TEXT }],
    model: 'm',
    usage: { inputTokens: 1000, outputTokens: 100 },
  })
}

async function bareTurn(
  store: Store,
  gateway: Gateway,
  sessionId: string,
  chat: number,
): Promise<void> {
  await store.messages.append(sessionId, { role: 'user', content: TEXT })
  await gateway.history(await gateway.resolve(sourceOf(chat)), { limit: HISTORY })
  await store.messages.append(sessionId, { role: 'assistant', content: TEXT })
}

/** A conversation long enough for the history. */
async function fill(store: Store, gateway: Gateway, chat: number): Promise<string> {
  const { lane } = await gateway.inbound(sourceOf(chat), { text: TEXT, id: 1 })
  const said = Array.from({ length: HISTORY }, (_, n) => ({
    role: n % 2 === 0 ? 'assistant' : 'user',
    content: TEXT,
  }))
  await store.messages.appendMany(lane.sessionId, said)
  await gateway.giveUp((await store.messages.list(lane.sessionId, { limit: 1 }))[0]?.id ?? 0)
  return lane.sessionId
}

function sourceOf(chat: number) {
  return { platform: 'telegram', account: '1', chatType: 'dm', chatId: chat, userId: chat }
}

/** Each worker does one after the other, all workers at the same time. */
async function perSecond(workers: number, work: (worker: number) => Promise<unknown>) {
  const start = performance.now()
  let done = 0
  const one = async (worker: number): Promise<void> => {
    while (performance.now() - start < BUDGET_MS) {
      await work(worker)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => one(worker)))
  return (done / (performance.now() - start)) * 1000
}

function ids(): () => number {
  let last = 1
  return () => (last += 1)
}

function onNewFile<T>(work: (store: Store) => Promise<T>): Promise<T> {
  return withTempFile(async (path) => {
    // Awaited inside, so that the store is open until the end.
    await using store = await openStore({ path })
    return await work(store)
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as fc from 'fast-check'

import { openGateway, type Gateway } from '../../src/gateway-adapter/index.ts'
import { openTempStore } from '../support/temp-store.ts'

const CHATS = ['-1', '-2', '-3', '-4']
const USERS = ['7', '8']

type Step =
  | { kind: 'say'; chat: string; user: string }
  | { kind: 'move'; from: string; to: string }
  | { kind: 'new'; chat: string; user: string }

const chat = fc.constantFrom(...CHATS)
const user = fc.constantFrom(...USERS)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('say' as const), chat, user }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), from: chat, to: chat }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('new' as const), chat, user }) },
)

/** Which ids are one chat, and which sessions each of its members was ever in. */
class Model {
  readonly #chats = new Map(CHATS.map((id) => [id, new Set([id])]))
  readonly sessions = new Map<string, Set<string>>()

  move(from: string, to: string): void {
    const joined = new Set([...this.idsOf(from), ...this.idsOf(to)])
    for (const id of joined) this.#chats.set(id, joined)
  }

  idsOf(id: string): ReadonlySet<string> {
    return this.#chats.get(id) ?? new Set()
  }

  sessionsOf(chatId: string, userId: string): string[] {
    const ids = [...this.idsOf(chatId)]
    return ids.flatMap((id) => [...(this.sessions.get(`${id} ${userId}`) ?? [])])
  }

  note(chatId: string, userId: string, sessionId: string): void {
    const key = `${chatId} ${userId}`
    this.sessions.set(key, (this.sessions.get(key) ?? new Set()).add(sessionId))
  }
}

let lastId = 0

async function take(gateway: Gateway, model: Model, next: Step, bot: string): Promise<void> {
  if (next.kind === 'move') {
    const { from: fromChatId, to: toChatId } = next
    await gateway.migrateChat({ platform: 'telegram', account: bot, fromChatId, toChatId })
    model.move(next.from, next.to)
    return
  }
  const source = sourceOf(bot, next.chat, next.user)
  lastId += 1
  const { lane } =
    next.kind === 'new'
      ? await gateway.reset(source)
      : await gateway.inbound(source, { text: 'hello', id: lastId })
  model.note(next.chat, next.user, lane.sessionId)
}

function sourceOf(account: string, chatId: string, userId: string) {
  return { platform: 'telegram', account, chatType: 'group', chatId, userId }
}

test('whatever moves where: the ids of one chat lead to one session, which is nobody else’s, and none is lost', async (t) => {
  const store = await openTempStore(t, { synchronous: 'NORMAL' })
  const gateway = await openGateway(store)
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const bot = String((run += 1))
      const model = new Model()

      for (const next of steps) await take(gateway, model, next, bot)

      const sessions = new Map<string, string>()
      for (const chatId of CHATS) {
        for (const userId of USERS) {
          const source = sourceOf(bot, chatId, userId)
          const { sessionId } = await gateway.resolve(source)
          const member = `${[...model.idsOf(chatId)].toSorted().join()} ${userId}`
          assert.equal(sessions.get(member) ?? sessionId, sessionId)
          sessions.set(member, sessionId)
          for (const earlier of model.sessionsOf(chatId, userId)) {
            assert(await isReachable(gateway, source, earlier))
          }
        }
      }
      assert.equal(new Set(sessions.values()).size, sessions.size)
    }),
    { numRuns: 40 },
  )
})

async function isReachable(
  gateway: Gateway,
  source: ReturnType<typeof sourceOf>,
  sessionId: string,
): Promise<boolean> {
  const { sessionId: before } = await gateway.resolve(source)
  const there = await gateway.resume(source, sessionId, { scope: 'lane' })
  const back = await gateway.resume(source, before, { scope: 'lane' })
  return there?.lane.sessionId === sessionId && back?.lane.sessionId === before
}

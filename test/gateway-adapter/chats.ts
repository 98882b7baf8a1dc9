import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  openGateway,
  type ChatSourceInput,
  type Gateway,
  type GatewayOptions,
} from '../../src/gateway-adapter/index.ts'
import { InvalidInputError, type Store } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

export const ada = {
  platform: 'telegram',
  account: '1',
  chatType: 'dm',
  chatId: 12345,
  userId: 12345,
}
export const bob = { ...ada, chatId: 777, userId: 777 }
export const group = { platform: 'telegram', account: '1', chatType: 'group', chatId: -100200 }
export const topic = { ...group, threadId: '42', userId: 7, userName: 'Ada' }
/** What Discord tells of a deleted message: not even which bot's chat it was. */
export const channel = { platform: 'discord', chatId: '1099511627776000001' }

export async function gatewayOn(
  t: TestContext,
  options: GatewayOptions = {},
): Promise<{ store: Store; gateway: Gateway }> {
  const store = await openTempStore(t)
  return { store, gateway: await openGateway(store, options) }
}

/** Somebody says something and gets `re: <text>` for it. */
export async function exchange(
  gateway: Gateway,
  source: ChatSourceInput,
  id: string,
  text: string,
) {
  const { lane, messageId } = await gateway.inbound(source, { text, id })
  const turn = await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: `re: ${text}`, platformMessageIds: [`a${id}`] }],
    usage: { outputTokens: 1 },
  })
  return { lane, messageId, answerId: turn.messageIds[0] ?? 0 }
}

/** What Hermes sees of a session. */
export async function transcript(store: Store, sessionId: string): Promise<unknown[]> {
  return (await store.messages.list(sessionId)).map(({ content }) => content)
}

export function isInvalid(field: string) {
  return (error: unknown) => error instanceof InvalidInputError && error.field === field
}

/** Longer than the lease of a gateway that was opened without options. */
export const LEASE_MS = 11_000

/** From now on it moves by `t.mock.timers.tick` only. */
export function stopClock(t: TestContext, now: number = Date.now()): void {
  t.mock.timers.enable({ apis: ['Date'], now })
}

/** Resolves when the only lease there is was renewed at the present time. */
export async function renewed({ db }: Store): Promise<void> {
  const read = () => db.selectFrom('store_leases').select('renewed_at').executeTakeFirstOrThrow()
  while ((await read()).renewed_at < Date.now() / 1000) await sleep(5)
}

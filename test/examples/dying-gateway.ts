// The example, which kills itself with SIGKILL at one step of a turn: dying-gateway.ts FILE STEP. Without
// a step it goes on living.
import { setTimeout as sleep } from 'node:timers/promises'

import { Conversations } from '../../examples/gateway/conversation.ts'
import { textOf, type Responder } from '../../examples/gateway/responder.ts'
import { readSettings } from '../../examples/gateway/settings.ts'
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { openStore } from '../../src/index.ts'

const [path = '', fatalStep] = process.argv.slice(2)
const { telegram, discord } = readSettings([], process.env)

/** Nobody outlives the step: what comes after it must not begin. */
async function dieAt(step: string): Promise<void> {
  if (step !== fatalStep) return
  process.kill(process.pid, 'SIGKILL')
  await sleep(60_000)
}

await using store = await openStore({ path })
const gateway = await openGateway(store, { leaseSeconds: 0.5 })
const { outbox } = gateway
const inbound = gateway.inbound.bind(gateway)
const [send, delivered] = [outbox.send.bind(outbox), outbox.delivered.bind(outbox)]
gateway.inbound = async (...args: [never]) => {
  const taken = await inbound(...args)
  await dieAt('claimed')
  return taken
}
outbox.send = async (...args) => {
  await dieAt('recorded')
  return send(...args)
}
outbox.delivered = async (...args) => {
  await dieAt('sent')
  await delivered(...args)
  await dieAt('marked as delivered')
}
const responder: Responder = {
  description: 'an echo',
  async answer(history) {
    await dieAt('asking the model')
    const text = `re: ${textOf(history.at(-1)?.content ?? null)}`
    await dieAt('answered by the model')
    return { text, model: 'echo', usage: { outputTokens: 1 } }
  },
}

const conversations = new Conversations(gateway, responder)
const { signal } = new AbortController()
if (telegram) {
  const { serveTelegram } = await import('../../examples/gateway/telegram.ts')
  await serveTelegram(conversations, telegram, signal)
}
if (discord) {
  const { serveDiscord } = await import('../../examples/gateway/discord.ts')
  await serveDiscord(conversations, discord, signal)
}

// A process that counts under a Chat SDK lock: reads the count, lets others try, writes it one higher.
import { setTimeout as sleep } from 'node:timers/promises'

import { ChatState } from '../../src/gateway-adapter/chat-state.ts'
import { openStore } from '../../src/index.ts'

const [file = '', rounds = '0', mode = 'count'] = process.argv.slice(2)
await using store = await openStore({ path: file })
const state = new ChatState(store, { namespace: 'chat' })
await state.connect()

if (mode === 'hold') {
  const lock = await state.acquireLock('thread', Number(rounds))
  process.stdout.write(`${JSON.stringify(lock)}\n`)
  await sleep(60_000)
}
for (let round = 0; round < Number(rounds); round += 1) {
  let lock = await state.acquireLock('thread', 30_000)
  while (lock === null) {
    await sleep(1 + Math.random() * 5)
    lock = await state.acquireLock('thread', 30_000)
  }
  const count = (await state.get<number>('count')) ?? 0
  await sleep(1)
  await state.set('count', count + 1)
  await state.releaseLock(lock)
}

// Takes the updates 1…count of one chat, answers each, and prints how many were duplicates.
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { openStore } from '../../src/index.ts'

const [path = '', count = '0'] = process.argv.slice(2)
await using store = await openStore({ path })
const gateway = await openGateway(store)
const source = { platform: 'telegram', account: '1', chatType: 'dm', chatId: 1, userId: 1 }
let duplicates = 0
for (let id = 1; id <= Number(count); id += 1) {
  const { lane, messageId, duplicate } = await gateway.inbound(source, { text: `m${id}`, id })
  if (duplicate) duplicates += 1
  await gateway.turn(lane, {
    answers: messageId,
    messages: [{ role: 'assistant', content: `re: m${id}` }],
    usage: { outputTokens: 1 },
  })
}
console.log(JSON.stringify({ duplicates }))

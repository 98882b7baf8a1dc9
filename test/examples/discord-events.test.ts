import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startFakeDiscord, type FakeDiscord } from '../support/fake-discord.ts'
import { tempFolder } from '../support/temp-store.ts'
import { startGateway } from './start-gateway.ts'

const ada = '900000000000000001'

/** Says something and returns the ids of the message and of the bot's answer. */
async function ask(
  discord: FakeDiscord,
  content: string,
  place: { channelId?: string; dm?: boolean },
) {
  const { id } = discord.pushMessage({ authorId: ada, content, ...place })
  const answer = await discord.nextSent()
  return { id, answerId: (answer.result as { id: string }).id }
}

/** What the bot remembers where that was said; by then everything before it has been carried out. */
async function remembered(discord: FakeDiscord, place: { channelId?: string; dm?: boolean }) {
  discord.pushMessage({ authorId: ada, content: '/history', ...place })
  const { content } = await discord.nextSent()
  return content.split('\n').filter((line) => line.startsWith('user: '))
}

test('edits, deletions and bulk deletions count in channels, threads and direct messages', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using gateway = startGateway(file, { env: discordEnv(discord) })
  await gateway.waitForOutput('serving')
  const thread = discord.pushThread('side talk', ada)

  for (const place of [{ channelId: discord.channelId }, { channelId: thread.id }, { dm: true }]) {
    const one = await ask(discord, 'one', place)
    const two = await ask(discord, 'two', place)
    const three = await ask(discord, 'three', place)
    const four = await ask(discord, 'four', place)

    discord.pushEdit(one.id, 'one, edited')
    discord.pushDelete(two.id)
    discord.pushBulkDelete([three.id, three.answerId, '1'])
    const lines = await remembered(discord, place)

    const name = 'channelId' in place && place.channelId === thread.id ? /\[.*\] / : /^/
    assert.deepEqual(
      lines.map((line) => line.replace('user: ', '').replace(name, '')),
      ['one, edited', 'four'],
      JSON.stringify(place),
    )
    assert.notEqual(four.id, one.id)
  }
  await gateway.kill()

  await using store = await openStore({ path: file })
  for (const { id, messageCount } of await store.sessions.list()) {
    const messages = await store.messages.list(id)
    assert.deepEqual([messageCount, messages.length], [5, 5])
  }
})

test('edits and deletions of what was said before the gateway started count, too', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  const env = discordEnv(discord)
  await using first = startGateway(file, { env })
  await first.waitForOutput('serving')
  const one = await ask(discord, 'one', {})
  const two = await ask(discord, 'two', {})
  await first.kill()

  await using second = startGateway(file, { env })
  await second.waitForOutput('serving')
  discord.pushEdit(one.id, 'one, edited')
  discord.pushDelete(two.id)
  const lines = await remembered(discord, {})
  await second.kill()

  assert.deepEqual(lines, ['user: one, edited'])
})

test('what Discord sends again after a lost connection is taken and answered once', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using gateway = startGateway(file, { env: discordEnv(discord) })
  await gateway.waitForOutput('serving')
  await ask(discord, 'one', {})

  discord.dropConnection({ replayLast: 5 })
  discord.pushMessage({ authorId: ada, content: 'two' })
  await discord.waitForResume()
  const two = await discord.nextSent()
  const three = await ask(discord, 'three', {})
  await gateway.kill()

  assert.match(two.content, /remember here: 3\./)
  assert.match(three.id, /^\d+$/)
  await using store = await openStore({ path: file })
  const [session] = await store.sessions.list()
  const messages = await store.messages.list(session?.id ?? '')
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  assert.deepEqual(asked, ['one', 'two', 'three'])
  assert.equal(messages.length, 6)
})

test('/undo and /branch work as slash commands', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using discord = await startFakeDiscord()
  await using gateway = startGateway(file, { env: discordEnv(discord) })
  await gateway.waitForOutput('serving')
  const slash = async (name: string, text?: string) => {
    discord.pushCommand({ userId: ada, name, ...(text !== undefined && { options: { text } }) })
    return (await discord.nextSent()).content
  }
  await ask(discord, 'one', {})
  await ask(discord, 'two', {})

  assert.equal(await slash('branch', 'Detour'), 'A branch: Detour, 4 messages.')
  assert.equal(await slash('undo'), 'Took back 1 question, from: two')
  assert.match(await slash('undo', 'x'), /That does not work: n /)
  assert.deepEqual(await remembered(discord, {}), ['user: one'])
  await gateway.kill()
})

function discordEnv(discord: FakeDiscord): Record<string, string> {
  return { DISCORD_TOKEN: discord.token, DISCORD_API_ROOT: discord.rest }
}

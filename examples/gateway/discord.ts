import { setTimeout as sleep } from 'node:timers/promises'

import {
  ApplicationCommandOptionType,
  Client,
  DiscordAPIError,
  Events,
  GatewayIntentBits,
  HTTPError,
  Partials,
  type ChatInputCommandInteraction,
} from 'discord.js'

import {
  discordInbound,
  discordInteractionSource,
  type ChatSource,
} from '../../src/gateway-adapter/index.ts'
import { commands, runCommand } from './commands.ts'
import type { Channel } from './channel.ts'
import type { Conversations } from './conversation.ts'
import { describe, log } from './log.ts'
import type { BotSettings } from './settings.ts'
import { splitText } from './split-text.ts'

const MESSAGE_LENGTH = 2000
/** Discord speaks of a few minutes. */
const NONCE_SECONDS = 120
const LONGEST_PAUSE_S = 60

/**
 * Answers every message the bot can read; its commands are slash commands, too. Resolves when `signal`
 * aborts; rejects when Discord turns the bot away for good.
 */
export async function serveDiscord(
  conversations: Conversations,
  settings: BotSettings,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseS = 1; !signal.aborted; pauseS = Math.min(2 * pauseS, LONGEST_PAUSE_S)) {
    try {
      return await serveClient(conversations, settings, signal)
    } catch (error) {
      if (!isOutage(error)) throw error
      log('discord', `cannot be reached, trying again in ${pauseS} s`, error)
    }
    await sleep(pauseS * 1000, undefined, { signal }).catch(() => undefined)
  }
}

/** With a client of its own, for discord.js uses none again that has failed; once online it stays so by itself. */
async function serveClient(
  conversations: Conversations,
  { token, apiRoot }: BotSettings,
  signal: AbortSignal,
): Promise<void> {
  const client = new Client({
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.MessageContent,
    ],
    // Without them direct messages don't arrive before the bot has written there, nor do edits and
    // deletions of what was said before the program started.
    partials: [Partials.Channel, Partials.Message],
    // What a model says must not ring everybody's bell.
    allowedMentions: { parse: [], repliedUser: true },
    ...(apiRoot !== undefined && { rest: { api: apiRoot } }),
  })
  const ended = Promise.withResolvers<void>()
  const end = (): void => ended.resolve()
  signal.addEventListener('abort', end)

  client.on(Events.MessageCreate, (message) => {
    const inbound = discordInbound(message, { botId: client.user?.id })
    if (inbound.kind === 'message') void conversations.take(inbound, discordChannel(message.client))
  })
  client.on(Events.MessageUpdate, (_, message) => {
    const inbound = discordInbound(message, { botId: client.user?.id })
    if (inbound.kind === 'edited') void conversations.edit(inbound)
  })
  client.on(Events.MessageDelete, ({ id, channelId }) => {
    void conversations.delete({ ...botOf(client), chatId: channelId }, [id])
  })
  client.on(Events.MessageBulkDelete, (messages, { id: chatId }) => {
    void conversations.delete({ ...botOf(client), chatId }, [...messages.keys()])
  })
  client.on(Events.InteractionCreate, (interaction) => {
    if (!interaction.isChatInputCommand()) return
    void answerCommand(conversations, interaction)
  })
  client.on(Events.Error, (error) => log('discord', 'connection', error))
  client.on(Events.Invalidated, () => ended.reject(new Error('Discord ended the session')))

  const start = async (): Promise<void> => {
    const ready = new Promise<Client<true>>((resolve) => {
      client.once(Events.ClientReady, resolve)
    })
    log('discord', 'connecting')
    await client.login(token)
    const online = await ready
    log('discord', `serving ${online.user.tag}`)
    await registerCommands(online.application)
    await conversations.catchUp(discordChannel(online))
  }
  try {
    await Promise.race([ended.promise, start().then(() => ended.promise)])
  } finally {
    signal.removeEventListener('abort', end)
    await client.destroy()
  }
}

/** Discord is down, or the way to it is: what the system or the HTTP client has a code for. */
function isOutage(error: unknown): boolean {
  if (error instanceof HTTPError) return error.status >= 500
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(?:E[A-Z]+|EAI_[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code)
}

async function registerCommands(application: Client<true>['application']): Promise<void> {
  const list = Object.entries(commands).map(([name, { help, takesText }]) => ({
    name,
    description: help,
    options: takesText
      ? [{ type: ApplicationCommandOptionType.String, name: 'text', description: 'What' } as const]
      : [],
  }))
  try {
    await application.commands.set(list)
  } catch (error) {
    log('discord', 'slash commands were not registered; typed ones work', error)
  }
}

async function answerCommand(
  { gateway }: Conversations,
  interaction: ChatInputCommandInteraction,
): Promise<void> {
  try {
    // Discord waits three seconds only, and the file may be locked for longer.
    await interaction.deferReply()
    const source = discordInteractionSource(interaction, { botId: interaction.client.user.id })
    const argument = interaction.options.getString('text')?.trim() ?? ''
    const text = await runCommand(gateway, source, interaction.commandName, argument).catch(
      (error: unknown) => {
        log('discord', `/${interaction.commandName}`, error)
        return `That did not work: ${describe(error)}`
      },
    )
    const [first = 'Done.', ...rest] = splitText(text, MESSAGE_LENGTH)
    await interaction.editReply(first)
    for (const part of rest) await interaction.followUp(part)
  } catch (error) {
    log('discord', `could not answer /${interaction.commandName}`, error)
  }
}

function botOf({ user }: Client): Channel['bot'] {
  return { platform: 'discord', ...(user && { account: user.id }) }
}

function discordChannel(client: Client<true>): Channel {
  return {
    bot: botOf(client),
    split: (text) => splitText(text, MESSAGE_LENGTH),
    send: (source, text, nonce) => sendText(client, source, text, nonce),
    isRefusal: (error) =>
      error instanceof UnwritableError || (error instanceof DiscordAPIError && error.status < 500),
    nonceSeconds: NONCE_SECONDS,
  }
}

class UnwritableError extends Error {}

async function sendText(
  client: Client,
  source: ChatSource,
  text: string,
  nonce: string | undefined,
): Promise<string> {
  const channel = await client.channels.fetch(source.chatId ?? '')
  if (!channel?.isSendable()) throw new UnwritableError('the channel cannot be written to')
  const sent = await channel.send({
    content: text,
    ...(nonce !== undefined && { nonce, enforceNonce: true }),
    ...(source.chatType !== 'dm' &&
      source.messageId !== undefined && {
        reply: { messageReference: source.messageId, failIfNotExists: false },
      }),
  })
  return sent.id
}

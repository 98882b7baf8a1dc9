import {
  ApplicationCommandOptionType,
  Client,
  Events,
  GatewayIntentBits,
  Partials,
  type ChatInputCommandInteraction,
} from 'discord.js'

import {
  discordInbound,
  discordInteractionSource,
  type ChatSource,
} from '../../src/gateway-adapter/index.ts'
import { commands, runCommand } from './commands.ts'
import type { Conversations } from './conversation.ts'
import { describe, log } from './log.ts'
import type { BotSettings } from './settings.ts'
import { splitText } from './split-text.ts'

const MESSAGE_LENGTH = 2000

/**
 * Answers every message the bot can read; its commands are slash commands, too. Resolves when `signal`
 * aborts; rejects when Discord turns the bot away for good.
 */
export async function serveDiscord(
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
    // Without it direct messages don't arrive before the bot has written there.
    partials: [Partials.Channel],
    // What a model says must not ring everybody's bell.
    allowedMentions: { parse: [], repliedUser: true },
    ...(apiRoot !== undefined && { rest: { api: apiRoot } }),
  })
  const say = (source: ChatSource, text: string) => sendText(client, source, text)
  const ended = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => ended.resolve(), { once: true })

  client.on(Events.MessageCreate, (message) => {
    const inbound = discordInbound(message, { botId: client.user?.id })
    if (inbound.kind !== 'message') return
    void conversations.take(inbound, say)
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
    const { user, application } = await ready
    log('discord', `serving ${user.tag}`)
    await registerCommands(application)
    await conversations.catchUp({ platform: 'discord', account: user.id }, say)
  }
  try {
    await Promise.race([ended.promise, start().then(() => ended.promise)])
  } finally {
    await client.destroy()
  }
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

async function sendText(client: Client, source: ChatSource, text: string): Promise<void> {
  const channel = await client.channels.fetch(source.chatId ?? '')
  if (!channel?.isSendable()) throw new Error('the channel cannot be written to')
  for (const content of splitText(text, MESSAGE_LENGTH)) {
    await channel.send({
      content,
      ...(source.chatType !== 'dm' &&
        source.messageId !== undefined && {
          reply: { messageReference: source.messageId, failIfNotExists: false },
        }),
    })
  }
}

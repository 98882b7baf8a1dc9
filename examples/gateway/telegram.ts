import { setTimeout as sleep } from 'node:timers/promises'

import { Bot, GrammyError, HttpError } from 'grammy'

import { telegramInbound, type ChatSource } from '../../src/gateway-adapter/index.ts'
import type { Channel } from './channel.ts'
import type { Conversations } from './conversation.ts'
import { log } from './log.ts'
import type { BotSettings } from './settings.ts'
import { splitText } from './split-text.ts'

const MESSAGE_LENGTH = 4096
/** Replies to a forum's General topic must not name its id. */
const GENERAL_TOPIC = '1'
const FLOOD_PATIENCE_S = 60

/**
 * Long polling: an update is acknowledged once its message is stored, so a crash loses none. Resolves
 * when `signal` aborts; rejects when Telegram turns the bot away for good.
 */
export async function serveTelegram(
  conversations: Conversations,
  { token, apiRoot }: BotSettings,
  signal: AbortSignal,
): Promise<void> {
  const bot = new Bot(token, apiRoot === undefined ? {} : { client: { apiRoot } })
  logOutages(bot, signal)
  log('telegram', 'connecting')
  // Tried again for as long as Telegram cannot be reached. grammY's signal is typed by a polyfill.
  await bot.init(signal as Parameters<Bot['init']>[0])
  const { id: botId, username } = bot.botInfo
  const channel = telegramChannel(bot)

  const stop = (): Promise<void> =>
    bot.stop().catch((error: unknown) => log('telegram', 'last acknowledgement', error))
  let isTaking = false
  // Stopping acknowledges the update that is being taken, so it must be stored by then.
  bot.use(async (_, next) => {
    isTaking = true
    try {
      await next()
    } finally {
      isTaking = false
      if (signal.aborted) await stop()
    }
  })
  bot.use(async ({ update }) => {
    const inbound = telegramInbound(update, { botId })
    if (inbound.kind === 'migrated') {
      const { gateway } = conversations
      await gateway.migrateChat({ platform: 'telegram', account: botId, ...inbound })
    }
    if (inbound.kind === 'edited') await conversations.edit(inbound)
    if (inbound.kind === 'message') await conversations.take(inbound, channel, username)
  })
  bot.catch(({ error, ctx }) => log('telegram', `update ${ctx.update.update_id}`, error))

  await conversations.catchUp(channel)
  signal.throwIfAborted()
  signal.addEventListener('abort', () => void (isTaking || stop()), { once: true })
  await bot.start({
    allowed_updates: ['message', 'edited_message', 'channel_post', 'edited_channel_post'],
    onStart: () => log('telegram', `serving @${username}`),
  })
}

/** grammY tries again without a word. Its network errors hold the token, so only their code is told. */
function logOutages(bot: Bot, signal: AbortSignal): void {
  let isDown = false
  const note = (problem: string | undefined): void => {
    if (signal.aborted || isDown === (problem !== undefined)) return
    isDown = problem !== undefined
    log('telegram', isDown ? `cannot be reached (${problem}), trying again` : 'reached again')
  }
  bot.api.config.use(async (call, method, payload, callSignal) => {
    if (method !== 'getMe' && method !== 'getUpdates') return call(method, payload, callSignal)
    try {
      const answer = await call(method, payload, callSignal)
      const failed = !answer.ok && answer.error_code >= 500
      note(failed ? `${answer.error_code} ${answer.description}` : undefined)
      return answer
    } catch (error) {
      const { code } = (error instanceof HttpError ? error.error : {}) as { code?: string }
      note(code ?? 'no answer of a Bot API')
      throw error
    }
  })
}

function telegramChannel(bot: Bot): Channel {
  return {
    bot: { platform: 'telegram', account: String(bot.botInfo.id) },
    split: (text) => splitText(text, MESSAGE_LENGTH),
    send: (source, text) => sendText(bot, source, text),
    isRefusal: (error) => error instanceof GrammyError && error.error_code < 500,
    nonceSeconds: 0,
  }
}

async function sendText(bot: Bot, source: ChatSource, text: string): Promise<string> {
  const { chatId = '', threadId, chatType, messageId } = source
  const isGroup = chatType !== 'dm'
  const sent = await patiently(() =>
    bot.api.sendMessage(chatId, text, {
      ...(threadId !== undefined &&
        !(isGroup && threadId === GENERAL_TOPIC) && { message_thread_id: Number(threadId) }),
      ...(isGroup &&
        messageId !== undefined && {
          reply_parameters: {
            message_id: Number(messageId),
            allow_sending_without_reply: true,
          },
        }),
    }),
  )
  return String(sent.message_id)
}

/** Waits once when Telegram asks for it. */
async function patiently<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    const waitS = error instanceof GrammyError ? error.parameters.retry_after : undefined
    if (waitS === undefined || waitS > FLOOD_PATIENCE_S) throw error
    await sleep(waitS * 1000)
    return send()
  }
}

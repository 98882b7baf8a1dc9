import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

import { normalizeSource } from '../../src/gateway-adapter/index.ts'
import type { Channel } from './channel.ts'
import type { Conversations } from './conversation.ts'

/** Hermes calls the machine it runs on the platform "local". */
const source = normalizeSource({ platform: 'local', chatType: 'dm', chatId: 'terminal' })

/** What a terminal would obey instead of show; whoever writes to a bot on this file can send it here. */
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * Serves standard input: each line is a message, and is answered before the next is read. Resolves at
 * the end of the input when everything is answered, or when `signal` aborts.
 */
export async function serveTerminal(
  conversations: Conversations,
  signal: AbortSignal,
): Promise<void> {
  const { stdin, stdout } = process
  const isInteractive = stdin.isTTY && stdout.isTTY
  const channel: Channel = {
    bot: { platform: source.platform },
    split: (text) => [text],
    async send(_, text) {
      const shown = text.replaceAll('\r\n', '\n').replaceAll(OBEYED, '\ufffd')
      if (!stdout.write(`${shown}\n`)) await once(stdout, 'drain')
      return randomUUID()
    },
    isRefusal: () => false,
    nonceSeconds: 0,
  }

  await conversations.catchUp(channel)
  // Not before the lines are read: those that came meanwhile would be lost.
  const lines = createInterface({
    input: stdin,
    ...(isInteractive && { output: stdout, prompt: 'you> ' }),
    crlfDelay: Infinity,
    signal,
  })
  let isOpen = true
  lines.once('close', () => {
    isOpen = false
    // The shell's prompt is to have a line of its own.
    if (isInteractive) stdout.write('\n')
  })
  // In raw mode the terminal sends no signal for Ctrl-C.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  // After Ctrl-Z and `fg`, readline waits to be told.
  lines.on('SIGCONT', () => lines.resume())
  const prompt = (): void => {
    if (isInteractive && isOpen) lines.prompt()
  }

  prompt()
  for await (const line of lines) {
    if (signal.aborted) break
    if (line.trim() !== '') await answered(conversations, line, channel)
    prompt()
  }
  if (!signal.aborted) await conversations.idle()
}

async function answered(
  conversations: Conversations,
  line: string,
  channel: Channel,
): Promise<void> {
  const taken = await conversations.take(
    {
      kind: 'message',
      source,
      text: line,
      at: Date.now() / 1000,
      messageId: randomUUID(),
      attachments: [],
    },
    channel,
  )
  await taken.answered
}

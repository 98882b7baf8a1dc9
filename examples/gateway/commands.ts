import { InvalidInputError, TitleTakenError } from '../../src/index.ts'
import type { ChatSource, Gateway, Scope } from '../../src/gateway-adapter/index.ts'
import { excerpt, textOf } from './responder.ts'

interface Command {
  readonly usage: string
  readonly help: string
  /** What follows the name matters. */
  readonly takesText: boolean
  run(gateway: Gateway, source: ChatSource, argument: string): Promise<string>
}

const LISTED_SESSIONS = 10
const LISTED_HITS = 5
const LISTED_MESSAGES = 10

/** By name, in the order in which /help lists them. */
export const commands: Readonly<Record<string, Command>> = {
  new: {
    usage: '/new [title]',
    help: 'begin a new conversation',
    takesText: true,
    async run(gateway, source, title) {
      await gateway.reset(source, title === '' ? {} : { title })
      return title === '' ? 'A new conversation.' : `A new conversation: ${title}`
    },
  },
  title: {
    usage: '/title [text]',
    help: 'show or set the title of this conversation',
    takesText: true,
    async run(gateway, source, text) {
      const title = await gateway.title(source, text === '' ? undefined : text)
      return title === null ? 'This conversation has no title.' : `Title: ${title}`
    },
  },
  resume: {
    usage: '/resume [title | id | beginning of an id]',
    help: 'go back to an earlier conversation, or list them',
    takesText: true,
    async run(gateway, source, wanted) {
      const scope = scopeOf(source)
      if (wanted === '') return listSessions(gateway, source)
      const back = await gateway.resume(source, wanted, { scope })
      if (!back) return 'There is no such conversation here, or more than one begins like that.'
      const name = back.title ?? back.lane.sessionId
      return `Back in ${name}, ${plural(back.messageCount, 'message')}.`
    },
  },
  branch: {
    usage: '/branch [title]',
    help: 'go on in a copy; the original can be resumed',
    takesText: true,
    async run(gateway, source, title) {
      const branch = await gateway.branch(source, title === '' ? {} : { title })
      if (!branch) return 'Nothing has been said yet.'
      return `A branch: ${branch.title}, ${plural(branch.messageCount, 'message')}.`
    },
  },
  undo: {
    usage: '/undo [how many]',
    help: 'take back the last questions and their answers',
    takesText: true,
    async run(gateway, source, count) {
      const { turns, question } = await gateway.undo(source, count === '' ? 1 : Number(count))
      if (turns === 0) return 'There is nothing to take back.'
      return `Took back ${plural(turns, 'question')}, from: ${excerpt(textOf(question), 160)}`
    },
  },
  search: {
    usage: '/search <words>',
    help: 'find what was said',
    takesText: true,
    async run(gateway, source, words) {
      if (words === '') return 'What shall I look for? /search <words>'
      const limit = LISTED_HITS
      const hits = await gateway.search(source, words, { scope: scopeOf(source), limit })
      if (hits.length === 0) return 'Nothing found.'
      return hits
        .map(
          ({ role, snippet, sessionId }) =>
            `${role}: ${excerpt(snippet ?? '', 160)} (${sessionId})`,
        )
        .join('\n')
    },
  },
  usage: {
    usage: '/usage',
    help: 'what this conversation has used, and all of them',
    takesText: false,
    async run(gateway, source) {
      const usage = await gateway.usage(source)
      const days = await gateway.usageByDay(source, { scope: scopeOf(source) })
      const calls = days.reduce((sum, { apiCalls }) => sum + apiCalls, 0)
      const cost = usage.costUsd === null ? '' : `, $${usage.costUsd.toFixed(4)}`
      const tokens = `${usage.inputTokens} in, ${usage.outputTokens} out`
      return [
        `${plural(usage.messages, 'message')}, ${plural(usage.apiCalls, 'model call')}`,
        `${plural(usage.totalTokens, 'token')} (${tokens})${cost}`,
        `${plural(calls, 'model call')} in all your conversations`,
      ].join('\n')
    },
  },
  history: {
    usage: '/history',
    help: 'the last messages of this conversation',
    takesText: false,
    async run(gateway, source) {
      const lane = await gateway.resolve(source)
      const messages = await gateway.history(lane, { limit: LISTED_MESSAGES })
      if (messages.length === 0) return 'Nothing has been said yet.'
      return messages
        .map(({ role, content }) => `${role}: ${excerpt(textOf(content), 160)}`)
        .join('\n')
    },
  },
  help: {
    usage: '/help',
    help: 'this list',
    takesText: false,
    run: help,
  },
}

/** What to tell the user. @throws whatever is not the user's mistake. */
export async function runCommand(
  gateway: Gateway,
  source: ChatSource,
  name: string,
  argument: string,
): Promise<string> {
  // Telegram sends it when somebody opens the chat for the first time.
  if (name === 'start') return `Hello. I remember what we talk about.\n${await help()}`
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return `I don't know /${name}. /help lists what I know.`
  try {
    return await command.run(gateway, source, argument)
  } catch (error) {
    if (error instanceof TitleTakenError) return 'That title is taken. Nothing was changed.'
    if (error instanceof InvalidInputError) return `That does not work: ${error.message}.`
    throw error
  }
}

async function help(): Promise<string> {
  const lines = Object.values(commands).map((command) => `${command.usage} – ${command.help}`)
  return lines.join('\n')
}

/** The terminal is the operator's; a private chat may show all of its person's; others read along in a group. */
function scopeOf({ platform, chatType }: ChatSource): Scope {
  if (platform === 'local') return 'all'
  return chatType === 'dm' ? 'user' : 'lane'
}

async function listSessions(gateway: Gateway, source: ChatSource): Promise<string> {
  const sessions = await gateway.sessions(source, {
    scope: scopeOf(source),
    limit: LISTED_SESSIONS,
  })
  if (sessions.length === 0) return 'There are no conversations yet.'
  return sessions
    .map(({ id, title, source: origin, messageCount }) => {
      return `${id}  ${title ?? '(no title)'}, ${origin}, ${plural(messageCount, 'message')}`
    })
    .join('\n')
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

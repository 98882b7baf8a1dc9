import type { Command } from 'commander'

import type { Message, Session, Store } from '../../index.ts'
import { wholeNumber } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { findSession } from '../find-session.ts'
import { localTime, oneLine, paragraphs, toJson } from '../text.ts'

const PAGE = 200

export function addShow(program: Command, cli: Cli): void {
  program
    .command('show <session>')
    .description('the transcript of a session, named by its title, its id or the beginning of it')
    .option('--limit <number>', 'only this many of its last messages', wholeNumber)
    .action((typed: string, options: { limit?: number }) =>
      cli.read(async (store) => {
        const session = await store.sessions.get(await findSession(store, typed))
        const messages = messagesOf(store, session.id, options.limit)
        if (cli.json) return printJson(cli, session, messages)
        await cli.out.line(headOf(cli, session))
        for await (const message of messages) await cli.out.line(entryOf(cli, message))
      }),
    )
}

/** All messages, or the last `count` of them, read page by page. */
async function* messagesOf(
  store: Store,
  sessionId: string,
  count: number | undefined,
): AsyncGenerator<Message> {
  let before = count === undefined ? undefined : await lastBut(store, sessionId, count)
  for (;;) {
    const after = before === undefined ? {} : { afterId: before }
    const page = await store.messages.list(sessionId, { limit: PAGE, ...after })
    yield* page
    before = page.at(-1)?.id
    if (page.length < PAGE) return
  }
}

/** The id of the message that `count` messages follow. */
async function lastBut(
  store: Store,
  sessionId: string,
  count: number,
): Promise<number | undefined> {
  const row = await store.db
    .selectFrom('messages')
    .select('id')
    .where('session_id', '=', sessionId)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(count)
    .executeTakeFirst()
  return row?.id
}

/** Written in pieces, as a session can be longer than memory should hold. */
async function printJson(
  cli: Cli,
  session: Session,
  messages: AsyncIterable<Message>,
): Promise<void> {
  await cli.out.write(`{"session":${toJson(session)},"messages":[`)
  let between = '\n'
  for await (const message of messages) {
    await cli.out.write(between + toJson(message))
    between = ',\n'
  }
  await cli.out.line(']}')
}

function headOf({ out }: Cli, session: Session): string {
  const title = out.bold(oneLine(session.title ?? session.id))
  const parts = [
    session.id,
    session.source,
    session.model,
    `started ${localTime(session.startedAt)}`,
  ]
  if (session.endedAt !== null) {
    parts.push(`ended ${localTime(session.endedAt)} (${session.endReason ?? 'no reason given'})`)
  }
  if (session.parentSessionId !== null) parts.push(`continues ${session.parentSessionId}`)
  const about = parts.filter((part) => part !== null).join(', ')
  return `${title}\n${out.dim(oneLine(about))}\n`
}

function entryOf({ out }: Cli, message: Message): string {
  const who = message.toolName === null ? message.role : `${message.role} ${message.toolName}`
  const head = `${out.bold(oneLine(who))} ${out.dim(localTime(message.timestamp))}`
  const calls = message.toolCalls === null ? [] : [`calls ${toJson(message.toolCalls)}`]
  const body = [...textOf(message.content), ...calls.map((call) => out.dim(call))]
  return [head, ...body, ''].join('\n')
}

function textOf(content: Message['content']): string[] {
  if (content === null || content === '') return []
  if (content instanceof Uint8Array) return [`(${content.byteLength} bytes)`]
  return [paragraphs(typeof content === 'string' ? content : toJson(content))]
}

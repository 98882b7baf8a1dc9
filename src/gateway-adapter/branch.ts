import { prepare } from '../database/prepared-query.ts'
import { messageColumns, toMessage, type EncodedMessage } from '../repositories/message-row.ts'
import { addToCounters, insertMessages } from '../repositories/message-writes.ts'
import type { Session } from '../repositories/session-row.ts'
import { countToolCalls } from '../repositories/tool-calls.ts'
import { nowSeconds } from '../schema/clock.ts'
import { parsePythonJson } from '../schema/python-json.ts'
import type { Store, StoreTransaction } from '../store.ts'
import type { Chat } from './chat.ts'
import { leaveSession, settleLane, toLane } from './lane.ts'
import { pointRoute } from './routes.ts'
import {
  setTitle,
  switched,
  takesCommand,
  titleOf,
  type Switched,
  type TitleOptions,
} from './session-commands.ts'

/** What Hermes calls the branch of a conversation without a title. */
const UNTITLED = 'branch'
/** Leaves room for the number in the 100 characters of a title. */
const TITLE_BASE_LENGTH = 90

/**
 * Copies the conversation into a session that comes from it, as Hermes' `/branch` does: the parent ends
 * as `branched`, the copies are new messages. The marker in `model_config` is that of later versions of
 * Hermes, which keep a branch in their lists by it when the parent is opened again.
 */
export function branchSession(
  store: Store,
  chat: Chat,
  options: TitleOptions | undefined,
): Promise<Switched | undefined> {
  const title = titleOf(options)
  return store.transaction(async (tx) => {
    const current = await settleLane(tx, chat)
    if (!(await takesCommand(tx, chat, 'branch'))) return switched(tx, current, true)
    const parent = await tx.sessions.get(current.sessionId)
    const rows = await rowsOf.all(tx.db, { sessionId: parent.id })
    if (rows.length === 0) return undefined

    await leaveSession(tx, current, 'branched')
    const sessionId = await tx.sessions.create({
      source: parent.source,
      userId: parent.userId,
      model: parent.model,
      modelConfig: markedConfig(parent),
      systemPrompt: parent.systemPrompt,
      parentSessionId: parent.id,
    })
    const copies = rows.map((row): EncodedMessage => ({
      ...row,
      toolCallCount: countToolCalls(toMessage(row).toolCalls),
      hasNul: [row.content, row.tool_name].some((text) => hasNul(text)),
    }))
    await insertMessages(tx.db, sessionId, copies, nowSeconds())
    await addToCounters(tx.db, sessionId, copies)
    await pointRoute(tx.db, current.routeId, sessionId)
    await setTitle(tx, sessionId, title ?? (await nextTitle(tx, parent.title ?? UNTITLED)))
    return switched(tx, toLane(chat, current.routeId, sessionId), false)
  })
}

async function nextTitle(tx: StoreTransaction, title: string): Promise<string> {
  const next = await tx.titles.next(title)
  const characters = Array.from(next)
  if (characters.length <= 100) return next
  return tx.titles.next(characters.slice(0, TITLE_BASE_LENGTH).join('').trim())
}

function markedConfig({ id, modelConfig }: Session): object {
  const config: unknown = modelConfig ? parsePythonJson(modelConfig) : {}
  const isObject = typeof config === 'object' && config !== null && !Array.isArray(config)
  return { ...(isObject && config), _branched_from: id }
}

// A BLOB arrives as bytes, whatever the type says.
function hasNul(text: string | Uint8Array | null): boolean {
  return typeof text === 'string' ? text.includes('\0') : (text?.includes(0) ?? false)
}

const rowsOf = prepare<{ sessionId: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('session_id', '=', p.sessionId)
    .orderBy('id'),
)

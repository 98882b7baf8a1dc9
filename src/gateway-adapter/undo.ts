import { sql } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { decodeContent, type MessageContent } from '../schema/content-codec.ts'
import type { Store } from '../store.ts'
import type { Chat } from './chat.ts'
import { hideMessages } from './hidden-messages.ts'
import { settleLane, type Lane } from './lane.ts'
import { takesCommand } from './session-commands.ts'

/** What was taken back. */
export interface Undone {
  readonly lane: Lane
  /** How many questions were taken back; fewer than were asked for when there were no more. */
  readonly turns: number
  readonly messageIds: readonly number[]
  /** The first of the questions that were taken back, to be asked again. */
  readonly question: MessageContent
  /** The command message was carried out before; this time nothing was changed. */
  readonly duplicate: boolean
}

const newestQuestions = prepare<{ sessionId: string; count: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'content'])
    .where('session_id', '=', p.sessionId)
    .where('role', '=', 'user')
    .orderBy('id', 'desc')
    .limit(p.count),
)

// A question that came in while an earlier one was being answered stands before that answer.
const fromQuestion = prepare<{ sessionId: string; questionId: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select('id')
    .where('session_id', '=', p.sessionId)
    .where('id', '>=', p.questionId)
    .where(
      'id',
      'not in',
      sql<number>`(
        select answer.value from store_turns, json_each(store_turns.message_ids) as answer
        where store_turns.session_id = ${p.sessionId} and store_turns.answers < ${p.questionId})`,
    )
    .orderBy('id'),
)

/** Takes the last questions back with everything that was said to them as Hermes' `/undo` does. */
export function undoTurns(store: Store, chat: Chat, count: number): Promise<Undone> {
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new InvalidInputError('n', 'must be a whole number from 1 up')
  }
  return store.transaction(async (tx) => {
    const lane = await settleLane(tx, chat)
    const nothing = { lane, turns: 0, messageIds: [], question: null, duplicate: false }
    if (!(await takesCommand(tx, chat, 'undo'))) return { ...nothing, duplicate: true }
    const { sessionId } = lane
    const questions = await newestQuestions.all(tx.db, { sessionId, count })
    const first = questions.at(-1)
    if (!first) return nothing
    const rows = await fromQuestion.all(tx.db, { sessionId, questionId: first.id })
    const ids = rows.map(({ id }) => id)
    const messageIds = await hideMessages(tx.db, ids, 'undone')
    const question = decodeContent(first.content)
    return { lane, turns: questions.length, messageIds, question, duplicate: false }
  })
}

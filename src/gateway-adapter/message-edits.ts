import type { Kysely, Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { lookupText } from '../repositories/input.ts'
import { withIndexRepair } from '../repositories/index-repair.ts'
import { encodeMessage } from '../repositories/message-row.ts'
import { cutAtNul, dropNuls } from '../repositories/trigram-nul.ts'
import { nowSeconds } from '../schema/clock.ts'
import { decodeContent, type MessageContent } from '../schema/content-codec.ts'
import type { Database } from '../schema/database.ts'
import type { Store } from '../store.ts'
import { optionsOf } from './arguments.ts'
import { attributedText, type Chat } from './chat.ts'
import type { ChatId } from './chat-source.ts'
import { messageKey, type ClaimKey } from './claims.ts'
import { isOfLane } from './scope.ts'
import { secondsOf } from './seconds-of.ts'

/** When an edit was made, where the platform says. */
export interface EditOptions {
  /** When the edit was made: seconds since the epoch, or a date. Now by default. */
  readonly at?: number | Date | undefined
}

/** What an edit came to. */
export interface Edited {
  readonly messageId: number
  /** False when the message says so already, or a later edit arrived before this one. */
  readonly changed: boolean
}

/** One of the texts that a message had. */
export interface Revision {
  readonly content: MessageContent
  /** When another text took its place, in seconds since the epoch; null for the one it has now. */
  readonly replacedAt: number | null
}

/**
 * Gives a message its new text in place, where Hermes reads it, and keeps the old one. Undefined when no
 * such message of theirs is in a session: it was never taken, is hidden, or Hermes has deleted it.
 */
export function editMessage(
  store: Store,
  chat: Chat,
  platformMessageId: ChatId,
  newText: string,
  options: EditOptions | undefined,
): Promise<Edited | undefined> {
  const key = messageKey(chat, 'messageId', platformMessageId)
  const text = lookupText('text', newText)
  const { at } = optionsOf('options', options)
  const toldAt = at === undefined ? undefined : secondsOf('at', at)
  return store.transaction(async ({ db }) => {
    const message = await current.first(db, key)
    if (!message || !isAuthor(chat, message.sender_id)) return undefined
    const { id: messageId, session_id: sessionId, content: old } = message
    const said = attributedText(chat, text, message.sender_name ?? chat.source.userName)
    const { content, hasNul } = encodeMessage({ role: 'user', content: said })
    if (content === old) return { messageId, changed: false }

    const earlier = await revisionsOf.all(db, { messageId })
    const latest = Math.max(...earlier.map((revision) => revision.edited_at))
    // An edit without a time is made now, whatever the clock says: it is never late.
    const editedAt = toldAt ?? Math.max(nowSeconds(), latest)
    const isRepeated =
      toldAt !== undefined &&
      toldAt <= latest &&
      earlier.some((revision) => revision.content === content)
    if (isRepeated) return { messageId, changed: false }
    const isLate = editedAt < latest
    await addRevision.run(db, {
      messageId,
      sessionId,
      content: isLate ? content : old,
      editedAt: isLate ? latest : editedAt,
      now: nowSeconds(),
    })
    if (isLate) return { messageId, changed: false }
    await setContent(db, messageId, content, hasNul)
    return { messageId, changed: true }
  })
}

/** Oldest first, the present text last; nothing when no such message is in a session of the conversation. */
export async function listRevisions(
  db: Kysely<Database>,
  chat: Chat,
  key: ClaimKey,
): Promise<Revision[]> {
  const message = await current.first(db, key)
  if (!message || !(await isOfLane(db, chat, message.session_id))) return []
  const earlier = await revisionsOf.all(db, { messageId: message.id })
  return [
    ...earlier.map((revision) => ({
      content: decodeContent(revision.content),
      replacedAt: revision.edited_at,
    })),
    { content: decodeContent(message.content), replacedAt: null },
  ]
}

/** Ids may be the sender's own choice. Where the platform does not say who it was, it answers for them. */
function isAuthor({ personId }: Chat, senderId: string | null): boolean {
  return senderId === null || personId === '' || senderId === personId
}

async function setContent(
  trx: Transaction<Database>,
  messageId: number,
  content: string | null,
  hasNul: boolean,
): Promise<void> {
  await cutAtNul(trx, [messageId])
  await withIndexRepair(trx, () => update.run(trx, { messageId, content }))
  if (hasNul) await dropNuls(trx, [messageId])
}

const current = prepare<ClaimKey>()((db, p) =>
  db
    .selectFrom('store_inbound')
    .innerJoin('messages', 'messages.id', 'store_inbound.message_id')
    .select(['messages.id', 'session_id', 'content', 'sender_id', 'sender_name'])
    .where('platform', '=', p.platform)
    .where('account', '=', p.account)
    .where('chat_id', '=', p.chatId)
    .where('platform_message_id', '=', p.platformMessageId),
)

const revisionsOf = prepare<{ messageId: number }>()((db, p) =>
  db
    .selectFrom('store_revisions')
    .select(['content', 'edited_at'])
    .where('message_id', '=', p.messageId)
    .orderBy('edited_at')
    .orderBy('id'),
)

const addRevision = prepare<{
  messageId: number
  sessionId: string
  content: string | null
  editedAt: number
  now: number
}>()((db, p) =>
  db.insertInto('store_revisions').values({
    message_id: p.messageId,
    session_id: p.sessionId,
    content: p.content,
    edited_at: p.editedAt,
    stored_at: p.now,
  }),
)

const update = prepare<{ messageId: number; content: string | null }>()((db, p) =>
  db.updateTable('messages').set({ content: p.content }).where('id', '=', p.messageId),
)

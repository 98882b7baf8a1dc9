import type { Store } from '../store.ts'
import type { ChatId } from './chat-source.ts'
import { hideMessages } from './hidden-messages.ts'
import { idTexts } from './outbound.ts'
import { takeDeleted, toolResultsOf, type PlatformChat } from './platform-messages.ts'

/** Hides what the platform's messages of these ids stand for; returns the ids of what was there. */
export async function deleteMessages(
  store: Store,
  chat: PlatformChat,
  platformMessageIds: readonly ChatId[],
): Promise<number[]> {
  const ids = idTexts('ids', platformMessageIds)
  return store.transaction(async ({ db }) => {
    const messageIds = await takeDeleted(db, chat, ids)
    const results = await toolResultsOf(db, messageIds)
    return hideMessages(db, [...new Set([...messageIds, ...results])], 'deleted')
  })
}

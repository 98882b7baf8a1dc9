import type { NewMessage } from '../repositories/message-row.ts'
import type { Usage } from '../repositories/session-usage.ts'
import type { Store } from '../store.ts'
import { findSettlement, settleClaim } from './claims.ts'
import type { Lane } from './lane.ts'

export interface Turn {
  /** The assistant's and the tools' messages, in order; the last is the answer. */
  readonly messages: readonly NewMessage[]
  /** What the model reported. `apiCallCount` is 1 unless it is given. */
  readonly usage?: Usage | undefined
  readonly model?: string | null | undefined
  /** The `messageId` of the message that is answered. Each is answered once. */
  readonly answers?: number | undefined
}

export interface RecordedTurn {
  readonly messageIds: readonly number[]
  /** The message had been answered before, or given up: nothing was stored now. */
  readonly duplicate: boolean
}

export async function recordTurn(store: Store, lane: Lane, turn: Turn): Promise<RecordedTurn> {
  const { messages, usage, model, answers } = turn
  return store.transaction(async (tx) => {
    if (answers !== undefined) {
      const earlier = await findSettlement(tx.db, answers)
      if (earlier?.settled) {
        return { messageIds: earlier.answerId === null ? [] : [earlier.answerId], duplicate: true }
      }
    }
    // Hermes may have compressed the session while the model was thinking.
    const sessionId = await tx.lineage.tip(lane.sessionId)
    const messageIds = await tx.messages.appendMany(sessionId, messages)
    if (usage || model) {
      await tx.sessions.addUsage(sessionId, {
        apiCallCount: 1,
        ...usage,
        ...(model && { model }),
      })
    }
    if (answers !== undefined) await settleClaim(tx.db, answers, messageIds.at(-1) ?? null)
    return { messageIds, duplicate: false }
  })
}

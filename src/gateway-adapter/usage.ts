import type { Session } from '../repositories/session-row.ts'
import type { Store } from '../store.ts'
import type { Chat } from './chat.ts'
import { currentLane } from './enter-lane.ts'

/** What a session has used: counts and tokens, over all its turns. */
export interface SessionUsage {
  readonly sessionId: string
  readonly model: string | null
  readonly messages: number
  readonly apiCalls: number
  /** Without what came from the provider's cache or went into it, as Hermes counts. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** Input, cache and output; reasoning is a part of the output. */
  readonly totalTokens: number
  /** The actual cost in US dollars, else the estimate, else null; Hermes keeps 0 for no estimate. */
  readonly costUsd: number | null
}

/** What the session that the chat is in has used so far. */
export async function readUsage(store: Store, chat: Chat): Promise<SessionUsage> {
  const { sessionId } = await currentLane(store, chat)
  return usageOf(await store.sessions.get(sessionId))
}

function usageOf(session: Session): SessionUsage {
  const inputTokens = session.inputTokens ?? 0
  const outputTokens = session.outputTokens ?? 0
  const cacheReadTokens = session.cacheReadTokens ?? 0
  const cacheWriteTokens = session.cacheWriteTokens ?? 0
  return {
    sessionId: session.id,
    model: session.model,
    messages: session.messageCount ?? 0,
    apiCalls: session.apiCallCount ?? 0,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: session.reasoningTokens ?? 0,
    totalTokens: inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens,
    costUsd: session.actualCostUsd ?? (session.estimatedCostUsd || null),
  }
}

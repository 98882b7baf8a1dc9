import type { Selectable } from 'kysely'

import type { Database } from '../schema/database.ts'

/** A stored session (spec §7). Times are seconds since the epoch, costs US dollars. */
export interface Session {
  id: string
  source: string
  userId: string | null
  model: string | null
  /** JSON text as stored. */
  modelConfig: string | null
  systemPrompt: string | null
  parentSessionId: string | null
  startedAt: number
  endedAt: number | null
  endReason: string | null
  messageCount: number | null
  toolCallCount: number | null
  inputTokens: number | null
  outputTokens: number | null
  cacheReadTokens: number | null
  cacheWriteTokens: number | null
  reasoningTokens: number | null
  billingProvider: string | null
  billingBaseUrl: string | null
  billingMode: string | null
  estimatedCostUsd: number | null
  actualCostUsd: number | null
  costStatus: string | null
  costSource: string | null
  pricingVersion: string | null
  title: string | null
  apiCallCount: number | null
  handoffState: string | null
  handoffPlatform: string | null
  handoffError: string | null
}

/** A session as lists give it: a prompt is large, and a list seldom needs it. */
export type SessionSummary = Omit<Session, 'systemPrompt'>

export const summaryColumns = [
  'id',
  'source',
  'user_id',
  'model',
  'model_config',
  'parent_session_id',
  'started_at',
  'ended_at',
  'end_reason',
  'message_count',
  'tool_call_count',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'billing_provider',
  'billing_base_url',
  'billing_mode',
  'estimated_cost_usd',
  'actual_cost_usd',
  'cost_status',
  'cost_source',
  'pricing_version',
  'title',
  'api_call_count',
  'handoff_state',
  'handoff_platform',
  'handoff_error',
] as const satisfies readonly (keyof Database['sessions'])[]

export const sessionColumns = [...summaryColumns, 'system_prompt'] as const

export type SummaryRow = Pick<Selectable<Database['sessions']>, (typeof summaryColumns)[number]>
export type SessionRow = Pick<Selectable<Database['sessions']>, (typeof sessionColumns)[number]>

export function toSession(row: SessionRow): Session {
  return { ...toSummary(row), systemPrompt: row.system_prompt }
}

export function toSummary(row: SummaryRow): SessionSummary {
  return {
    id: row.id,
    source: row.source,
    userId: row.user_id,
    model: row.model,
    modelConfig: row.model_config,
    parentSessionId: row.parent_session_id,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    endReason: row.end_reason,
    messageCount: row.message_count,
    toolCallCount: row.tool_call_count,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    reasoningTokens: row.reasoning_tokens,
    billingProvider: row.billing_provider,
    billingBaseUrl: row.billing_base_url,
    billingMode: row.billing_mode,
    estimatedCostUsd: row.estimated_cost_usd,
    actualCostUsd: row.actual_cost_usd,
    costStatus: row.cost_status,
    costSource: row.cost_source,
    pricingVersion: row.pricing_version,
    title: row.title,
    apiCallCount: row.api_call_count,
    handoffState: row.handoff_state,
    handoffPlatform: row.handoff_platform,
    handoffError: row.handoff_error,
  }
}

import { expressionBuilder, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import type { Database } from '../schema/database.ts'
import { optionalText, requireObject } from './input.ts'
import { insertSession, requireSessionId } from './new-session.ts'

/** What a model call cost: tokens and calls are whole numbers, costs US dollars. */
export interface Usage {
  inputTokens?: number
  outputTokens?: number
  cacheReadTokens?: number
  cacheWriteTokens?: number
  reasoningTokens?: number
  apiCallCount?: number
  estimatedCostUsd?: number | null
  actualCostUsd?: number | null
  costStatus?: string | null
  costSource?: string | null
  pricingVersion?: string | null
  billingProvider?: string | null
  billingBaseUrl?: string | null
  billingMode?: string | null
  model?: string | null
}

/** Adds to the totals; the row is made, with source `unknown`, if there is none (spec §7). */
export async function addUsage(trx: Transaction<Database>, row: UsageRow): Promise<void> {
  await ensureRow(trx, row)
  await add.run(trx, row)
}

/** Replaces the totals; what `usage` leaves out becomes 0, but an actual cost stays (spec §7). */
export async function setUsage(trx: Transaction<Database>, row: UsageRow): Promise<void> {
  await ensureRow(trx, row)
  await replace.run(trx, row)
}

async function ensureRow(trx: Transaction<Database>, { id, model }: UsageRow): Promise<void> {
  await insertSession(trx, {
    id,
    source: 'unknown',
    userId: null,
    model,
    modelConfig: null,
    systemPrompt: null,
    parentSessionId: null,
  })
}

export type UsageRow = ReturnType<typeof toUsageRow>

/** @throws {InvalidInputError} naming the field that cannot be stored. */
export function toUsageRow(sessionId: string, usage: Usage) {
  requireObject('usage', usage)
  return {
    id: requireSessionId('sessionId', sessionId),
    inputTokens: wholeNumber('inputTokens', usage.inputTokens),
    outputTokens: wholeNumber('outputTokens', usage.outputTokens),
    cacheReadTokens: wholeNumber('cacheReadTokens', usage.cacheReadTokens),
    cacheWriteTokens: wholeNumber('cacheWriteTokens', usage.cacheWriteTokens),
    reasoningTokens: wholeNumber('reasoningTokens', usage.reasoningTokens),
    apiCallCount: wholeNumber('apiCallCount', usage.apiCallCount),
    estimatedCostUsd: cost('estimatedCostUsd', usage.estimatedCostUsd),
    actualCostUsd: cost('actualCostUsd', usage.actualCostUsd),
    costStatus: optionalText('costStatus', usage.costStatus),
    costSource: optionalText('costSource', usage.costSource),
    pricingVersion: optionalText('pricingVersion', usage.pricingVersion),
    billingProvider: optionalText('billingProvider', usage.billingProvider),
    billingBaseUrl: optionalText('billingBaseUrl', usage.billingBaseUrl),
    billingMode: optionalText('billingMode', usage.billingMode),
    model: optionalText('model', usage.model),
  } as const
}

// A total that is NULL stays NULL: the agent's arithmetic, and a sign that nobody ever counted.
const add = prepare<UsageRow>()((db, p) =>
  db
    .updateTable('sessions')
    .set((eb) => ({
      input_tokens: eb('input_tokens', '+', p.inputTokens),
      output_tokens: eb('output_tokens', '+', p.outputTokens),
      cache_read_tokens: eb('cache_read_tokens', '+', p.cacheReadTokens),
      cache_write_tokens: eb('cache_write_tokens', '+', p.cacheWriteTokens),
      reasoning_tokens: eb('reasoning_tokens', '+', p.reasoningTokens),
      api_call_count: eb(eb.fn.coalesce('api_call_count', eb.lit(0)), '+', p.apiCallCount),
      estimated_cost_usd: eb(
        eb.fn.coalesce('estimated_cost_usd', eb.lit(0)),
        '+',
        eb.fn.coalesce(eb.val(p.estimatedCostUsd), eb.lit(0)),
      ),
      actual_cost_usd: eb
        .case()
        .when(eb.val(p.actualCostUsd), 'is', null)
        .then(eb.ref('actual_cost_usd'))
        .else(eb(eb.fn.coalesce('actual_cost_usd', eb.lit(0)), '+', p.actualCostUsd))
        .end(),
      ...descriptions(p),
    }))
    .where('id', '=', p.id),
)

const replace = prepare<UsageRow>()((db, p) =>
  db
    .updateTable('sessions')
    .set((eb) => ({
      input_tokens: p.inputTokens,
      output_tokens: p.outputTokens,
      cache_read_tokens: p.cacheReadTokens,
      cache_write_tokens: p.cacheWriteTokens,
      reasoning_tokens: p.reasoningTokens,
      api_call_count: p.apiCallCount,
      estimated_cost_usd: eb.fn.coalesce(eb.val(p.estimatedCostUsd), eb.lit(0)),
      actual_cost_usd: eb.fn.coalesce(eb.val(p.actualCostUsd), 'actual_cost_usd'),
      ...descriptions(p),
    }))
    .where('id', '=', p.id),
)

/** How the cost was found: the latest word wins. Model and billing: the first. */
function descriptions(p: UsageRow) {
  const eb = expressionBuilder<Database, 'sessions'>()
  return {
    cost_status: eb.fn.coalesce(eb.val(p.costStatus), 'cost_status'),
    cost_source: eb.fn.coalesce(eb.val(p.costSource), 'cost_source'),
    pricing_version: eb.fn.coalesce(eb.val(p.pricingVersion), 'pricing_version'),
    billing_provider: eb.fn.coalesce('billing_provider', eb.val(p.billingProvider)),
    billing_base_url: eb.fn.coalesce('billing_base_url', eb.val(p.billingBaseUrl)),
    billing_mode: eb.fn.coalesce('billing_mode', eb.val(p.billingMode)),
    model: eb.fn.coalesce('model', eb.val(p.model)),
  }
}

function wholeNumber(field: string, value: unknown): number {
  if (value === undefined) return 0
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new InvalidInputError(field, 'must be a whole number')
  }
  return value
}

function cost(field: string, value: unknown): number | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new InvalidInputError(field, 'must be a finite number')
  }
  return value
}

import type { Handle } from '../database/handle.ts'
import { InvalidInputError } from '../errors.ts'
import { limitOf, optionalText, requireObject } from './input.ts'

/** Which sessions are counted; all when nothing is given. */
export interface UsageOptions {
  source?: string
  /** Sessions started at or after it; seconds since the epoch. */
  since?: number
  /** Sessions started before it; seconds since the epoch. */
  until?: number
}

/** What one model was used for; tokens and calls are sums over its sessions, costs US dollars. */
export interface ModelUsage {
  model: string
  sessions: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  apiCallCount: number
  /** The sum of the estimated costs. */
  totalCostUsd: number
}

/** Which sessions are ranked. */
export interface TopSessionsOptions {
  source?: string
  /** -1 for all; 10 when absent. */
  limit?: number
}

/** A session by its tokens; costs are US dollars. */
export interface SessionTokens {
  id: string
  title: string | null
  source: string
  model: string | null
  /** Seconds since the epoch. */
  startedAt: number
  inputTokens: number
  outputTokens: number
  /** Input and output; what came from a cache is not in it. */
  totalTokens: number
  estimatedCostUsd: number | null
}

/** Questions over all sessions; for others there is `store.db`. */
export class AnalyticsRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /** The dearest model first; sessions without a model are left out. */
  async usageByModel(options: UsageOptions = {}): Promise<ModelUsage[]> {
    requireObject('options', options)
    const source = optionalText('source', options.source)
    const since = optionalTime('since', options.since)
    const until = optionalTime('until', options.until)
    return this.#db.heavy
      .selectFrom('sessions')
      .select((eb) => [
        eb.ref('model').$notNull().as('model'),
        eb.fn.countAll<number>().as('sessions'),
        eb.fn.coalesce(eb.fn.sum<number>('input_tokens'), eb.lit(0)).as('inputTokens'),
        eb.fn.coalesce(eb.fn.sum<number>('output_tokens'), eb.lit(0)).as('outputTokens'),
        eb.fn.coalesce(eb.fn.sum<number>('cache_read_tokens'), eb.lit(0)).as('cacheReadTokens'),
        eb.fn.coalesce(eb.fn.sum<number>('cache_write_tokens'), eb.lit(0)).as('cacheWriteTokens'),
        eb.fn.coalesce(eb.fn.sum<number>('reasoning_tokens'), eb.lit(0)).as('reasoningTokens'),
        eb.fn.coalesce(eb.fn.sum<number>('api_call_count'), eb.lit(0)).as('apiCallCount'),
        eb.fn.coalesce(eb.fn.sum<number>('estimated_cost_usd'), eb.lit(0)).as('totalCostUsd'),
      ])
      .where('model', '!=', '')
      .$if(Boolean(source), (query) => query.where('source', '=', source))
      .$if(since !== undefined, (query) => query.where('started_at', '>=', since!))
      .$if(until !== undefined, (query) => query.where('started_at', '<', until!))
      .groupBy('model')
      .orderBy('totalCostUsd', 'desc')
      .orderBy('model')
      .execute()
  }

  /** The sessions with the most input and output tokens. */
  async topSessionsByTokens(options: TopSessionsOptions = {}): Promise<SessionTokens[]> {
    requireObject('options', options)
    const source = optionalText('source', options.source)
    const limit = limitOf('limit', options.limit, 10)
    return this.#db.heavy
      .with('counted', (cte) =>
        cte
          .selectFrom('sessions')
          .select((eb) => [
            'id',
            'title',
            'source',
            'model',
            'started_at as startedAt',
            eb.fn.coalesce('input_tokens', eb.lit(0)).as('inputTokens'),
            eb.fn.coalesce('output_tokens', eb.lit(0)).as('outputTokens'),
            'estimated_cost_usd as estimatedCostUsd',
          ])
          .$if(Boolean(source), (query) => query.where('source', '=', source)),
      )
      .selectFrom('counted')
      .select((eb) => [
        'id',
        'title',
        'source',
        'model',
        'startedAt',
        'inputTokens',
        'outputTokens',
        eb('inputTokens', '+', eb.ref('outputTokens')).as('totalTokens'),
        'estimatedCostUsd',
      ])
      .orderBy('totalTokens', 'desc')
      .orderBy('id')
      .limit(limit)
      .execute()
  }
}

function optionalTime(field: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new InvalidInputError(field, 'must be a time in seconds since the epoch')
  }
  return value
}

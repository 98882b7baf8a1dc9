import { sql, type Kysely, type RawBuilder, type SqlBool, type Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import type { Usage } from '../repositories/session-usage.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import type { Chat } from './chat.ts'
import { homeChatId } from './chat-aliases.ts'
import { scopeOf, type InScope, type Scope } from './scope.ts'

/** What was used on one day with one model. */
export interface DailyUsage {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string
  /** '' when the turns did not say. */
  readonly model: string
  readonly turns: number
  readonly apiCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** The actual cost in US dollars where it was given, else the estimate; null when neither was. */
  readonly costUsd: number | null
}

interface UsageRow {
  readonly routeId: number
  readonly personId: string
  readonly day: string
  readonly model: string
  readonly apiCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly costUsd: number | null
}

const add = prepare<UsageRow>()((db, p) =>
  db
    .insertInto('store_usage')
    .values({
      route_id: p.routeId,
      person_id: p.personId,
      day: p.day,
      model: p.model,
      turns: 1,
      api_calls: p.apiCalls,
      input_tokens: p.inputTokens,
      output_tokens: p.outputTokens,
      cache_read_tokens: p.cacheReadTokens,
      cache_write_tokens: p.cacheWriteTokens,
      reasoning_tokens: p.reasoningTokens,
      cost_usd: p.costUsd,
    })
    .onConflict((conflict) =>
      conflict.doUpdateSet((eb) => ({
        turns: eb('store_usage.turns', '+', 1),
        api_calls: eb('store_usage.api_calls', '+', eb.ref('excluded.api_calls')),
        input_tokens: eb('store_usage.input_tokens', '+', eb.ref('excluded.input_tokens')),
        output_tokens: eb('store_usage.output_tokens', '+', eb.ref('excluded.output_tokens')),
        cache_read_tokens: eb(
          'store_usage.cache_read_tokens',
          '+',
          eb.ref('excluded.cache_read_tokens'),
        ),
        cache_write_tokens: eb(
          'store_usage.cache_write_tokens',
          '+',
          eb.ref('excluded.cache_write_tokens'),
        ),
        reasoning_tokens: eb(
          'store_usage.reasoning_tokens',
          '+',
          eb.ref('excluded.reasoning_tokens'),
        ),
        cost_usd: sql<number | null>`coalesce(store_usage.cost_usd + excluded.cost_usd,
          store_usage.cost_usd, excluded.cost_usd)`,
      })),
    ),
)

/** Counts a turn for the person who asked; with the same numbers as the session's own counters. */
export async function addTurnUsage(
  trx: Transaction<Database>,
  { routeId, personId }: { routeId: number; personId: string },
  usage: Usage,
): Promise<void> {
  await add.run(trx, {
    routeId,
    personId,
    day: new Date(nowSeconds() * 1000).toISOString().slice(0, 10),
    model: usage.model ?? '',
    apiCalls: usage.apiCallCount ?? 0,
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cacheReadTokens: usage.cacheReadTokens ?? 0,
    cacheWriteTokens: usage.cacheWriteTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    costUsd: usage.actualCostUsd ?? usage.estimatedCostUsd ?? null,
  })
}

/** By day, then by model. */
export async function readDailyUsage(
  db: Kysely<Database>,
  chat: Chat,
  options: InScope,
): Promise<DailyUsage[]> {
  const scope = scopeOf(options)
  return db
    .selectFrom('store_usage')
    .innerJoin('store_chat_routes as route', 'route.id', 'store_usage.route_id')
    .select(['day', 'model'])
    .select((eb) => [
      eb.fn.sum<number>('turns').as('turns'),
      eb.fn.sum<number>('api_calls').as('apiCalls'),
      eb.fn.sum<number>('input_tokens').as('inputTokens'),
      eb.fn.sum<number>('output_tokens').as('outputTokens'),
      eb.fn.sum<number>('cache_read_tokens').as('cacheReadTokens'),
      eb.fn.sum<number>('cache_write_tokens').as('cacheWriteTokens'),
      eb.fn.sum<number>('reasoning_tokens').as('reasoningTokens'),
      eb.fn.sum<number | null>('cost_usd').as('costUsd'),
    ])
    .where(usedBy(chat, scope))
    .groupBy(['day', 'model'])
    .orderBy('day')
    .orderBy('model')
    .execute()
}

/** `user`: everywhere, also in shared chats, for what one used is nobody else's secret. */
function usedBy({ parts, personId }: Chat, scope: Scope): RawBuilder<SqlBool> {
  const bot = sql`route.platform = ${parts.platform} and route.account = ${parts.account}`
  const lane = sql<SqlBool>`(${bot} and route.chat_type = ${parts.chatType}
    and route.chat_id = ${homeChatId(parts)} and route.thread_id = ${parts.threadId}
    and route.user_id = ${parts.userId})`
  if (scope === 'all') return sql`true`
  if (scope === 'lane') return lane
  // '' is nobody: everybody whose platform did not name them.
  return personId === ''
    ? sql`(${lane} and person_id = '')`
    : sql`(${bot} and person_id = ${personId})`
}

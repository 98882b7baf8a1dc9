import type { Expression, QueryCreator } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { flagOf, limitOf, offsetOf, optionalText, requireObject, textsOf } from './input.ts'
import { conversationActivity } from './latest-active.ts'
import { tipsOfRoots } from './lineage-queries.ts'
import { firstWords, lastActive, toPreview } from './session-activity.ts'
import { pageOfSessions, type PageParams, type PageShape } from './session-page.ts'
import { summaryColumns, toSummary, type SessionSummary } from './session-row.ts'

/** Which sessions a list has, and in which order (spec §10). */
export interface SessionListOptions {
  source?: string
  excludeSources?: readonly string[]
  /** -1 for all; 20 when absent. */
  limit?: number
  /** How many to leave out first; 0 when absent. */
  offset?: number
  /** Sub-agent runs and continuations become entries of their own. */
  includeChildren?: boolean
  /** On unless children are included: a compressed conversation shows its newest part. */
  projectCompressionTips?: boolean
  /** By the newest message of the whole conversation instead of its start. */
  orderByLastActive?: boolean
  /** Off by default: a prompt is large. */
  includeSystemPrompt?: boolean
}

/** An entry of a list; times are seconds since the epoch (spec §10). */
export interface SessionListEntry extends SessionSummary {
  /** The first 60 characters of the first thing the user said. */
  preview: string
  /** The newest message, else the start. */
  lastActive: number
  /** The first part of a compressed conversation, when the entry shows a later one. */
  lineageRootId?: string
  /** Only with `includeSystemPrompt`. */
  systemPrompt?: string | null
}

/** How many sessions there may be to one that a list shows; with more of them it takes longer. */
const LOOKED_THROUGH = 5

/** @throws {InvalidInputError} naming the option. */
export async function listSessions(
  db: Handle,
  options: SessionListOptions,
): Promise<SessionListEntry[]> {
  const { shape, params } = toQuery(options)
  const rows = await (shape.byActivity ? rowsByActivity : rowsByStart)(db, shape, params)
  return rows.map((row) => {
    const entry: SessionListEntry = Object.assign(toSummary(row), {
      preview: toPreview(row.words),
      lastActive: row.last_active,
    })
    if (row.root_id !== row.id) entry.lineageRootId = row.root_id
    if (row.system_prompt !== undefined) entry.systemPrompt = row.system_prompt
    return entry
  })
}

function rowsByStart({ read }: Handle, shape: ListShape, params: PageParams) {
  return listOf(shape).all(read, params)
}

/** No index knows how active a session was, so a page is looked for among the latest active first. */
async function rowsByActivity(db: Handle, shape: ListShape, params: PageParams) {
  const { limit, offset } = params
  if (limit >= 0) {
    const rows = await rowsAmong(db, shape, params, (limit + offset) * LOOKED_THROUGH)
    if (rows.length === limit) return rows
  }
  return rowsAmong(db, shape, params, -1)
}

async function rowsAmong(db: Handle, shape: ListShape, params: PageParams, reach: number) {
  const activity = JSON.stringify([...(await conversationActivity(db, reach))])
  return listOf(shape).all(db.read, { ...params, activity })
}

interface ListShape extends PageShape {
  readonly tips: boolean
  readonly prompts: boolean
}

function toQuery(options: SessionListOptions): { shape: ListShape; params: PageParams } {
  requireObject('options', options)
  const source = optionalText('source', options.source) ?? ''
  const excluded = textsOf('excludeSources', options.excludeSources)
  const children = flagOf('includeChildren', options.includeChildren, false)
  const tips = flagOf('projectCompressionTips', options.projectCompressionTips, true)
  return {
    shape: {
      source: source !== '',
      exclude: excluded.length > 0,
      children,
      tips: tips && !children,
      byActivity: flagOf('orderByLastActive', options.orderByLastActive, false),
      prompts: flagOf('includeSystemPrompt', options.includeSystemPrompt, false),
    },
    params: {
      source,
      activity: '[]',
      excluded: JSON.stringify(excluded),
      limit: limitOf('limit', options.limit, 20),
      offset: offsetOf('offset', options.offset),
    },
  }
}

const compiled = new Map<string, ReturnType<typeof buildList>>()

function listOf(shape: ListShape): ReturnType<typeof buildList> {
  const key = JSON.stringify(shape)
  let list = compiled.get(key)
  if (!list) {
    list = buildList(shape)
    compiled.set(key, list)
  }
  return list
}

/** What an entry takes from the newest part of its conversation; all else is the first part's. */
const OF_TIP: ReadonlySet<string> = new Set([
  'id',
  'ended_at',
  'end_reason',
  'message_count',
  'tool_call_count',
  'title',
  'model',
])
const entryColumns = summaryColumns.map((column) =>
  OF_TIP.has(column) ? (`tip.${column}` as const) : (`first.${column}` as const),
)

/** Nothing is read of a session but what the page needs, before the page is known. */
function buildList(shape: ListShape) {
  return prepare<PageParams>()((db, p) =>
    db
      .withRecursive('root', (cte) => pageOfSessions(cte, shape, p))
      .with('shown', (cte) => (shape.tips ? tipsOfRoots(cte) : themselves(cte)))
      .selectFrom('root')
      .innerJoin('shown', 'shown.root_id', 'root.id')
      .innerJoin('sessions as first', 'first.id', 'root.id')
      .innerJoin('sessions as tip', 'tip.id', 'shown.id')
      .select(entryColumns)
      .select((eb) => [
        'root.id as root_id',
        lastActive({ id: eb.ref('tip.id'), startedAt: eb.ref('tip.started_at') }).as('last_active'),
        firstWords(eb.ref('tip.id')).as('words'),
      ])
      .$if(shape.prompts, (query) => query.select('tip.system_prompt'))
      .orderBy('root.activity', 'desc')
      .orderBy('root.started_at', 'desc')
      .$if(shape.byActivity, (query) => query.orderBy('root.id', 'desc'))
      .orderBy('root.row'),
  )
}

function themselves(
  db: QueryCreator<Database & { root: { id: string } }>,
): Expression<{ root_id: string; id: string }> {
  return db.selectFrom('root').select(['root.id as root_id', 'root.id'])
}

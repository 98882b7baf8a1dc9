import { setTimeout as sleep } from 'node:timers/promises'

import { sql, type Transaction } from 'kysely'

import type { Handle } from '../database/handle.ts'
import type { Database } from '../schema/database.ts'
import { dropNuls } from './trigram-nul.ts'

export interface RebuildOptions {
  /** Told after each step how many messages of how many are indexed, over both indexes. */
  onProgress?: (done: number, total: number) => void
  /** Stops after the current step; what was indexed stays, and search says that it is incomplete. */
  signal?: AbortSignal
}

const INDEXES = ['messages_fts', 'messages_fts_trigram'] as const

/** Aimed at: long enough to be worth a COMMIT, too short for anybody to notice. */
const STEP_MS = 20
/** Other processes only poll for the lock. */
const PAUSE_MS = 5

/**
 * Builds both full-text indexes anew in short steps, between which everybody else can write. From
 * the newest message to the oldest: an index whose first message is not the file's first is known
 * to be incomplete, here, by `openStore` and by search, until the very last step.
 */
export async function rebuildIndexes(
  db: Handle,
  objects: Readonly<Record<string, string>>,
  { onProgress, signal }: RebuildOptions,
): Promise<void> {
  signal?.throwIfAborted()
  // Both at first, so that neither is trusted before both are whole.
  await db.write(async (trx) => {
    for (const index of INDEXES) await empty(trx, index, objects)
  })
  const total = INDEXES.length * (await countMessages(db))
  let done = 0
  for (const index of INDEXES) {
    let rows = 50
    let before: number | undefined = Number.MAX_SAFE_INTEGER
    while (before !== undefined) {
      signal?.throwIfAborted()
      const step: Step = await db.write((trx) => indexBefore(trx, index, before!, rows))
      before = step.first
      done += step.messages
      if (before !== undefined) onProgress?.(done, total)
      if (step.tookMs > STEP_MS * 2) rows = Math.max(1, Math.floor(rows / 2))
      else if (step.tookMs < STEP_MS / 2) rows *= 2
      await sleep(PAUSE_MS)
    }
  }
}

interface Step {
  /** The lowest id of the step; undefined when nothing was left. */
  readonly first: number | undefined
  readonly messages: number
  readonly tookMs: number
}

async function indexBefore(
  trx: Transaction<Database>,
  index: (typeof INDEXES)[number],
  before: number,
  rows: number,
): Promise<Step> {
  const startedAt = performance.now()
  const found = await trx
    .selectFrom('messages')
    .select('id')
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(rows)
    .execute()
  const ids = found.map(({ id }) => id)
  // What was added or changed meanwhile has been indexed by the triggers.
  await sql`
    insert into ${sql.id(index)}(rowid, content)
    select id, coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '')
    from messages
    where id in (select value from json_each(${JSON.stringify(ids)}))
      and id not in (select id from ${sql.id(`${index}_docsize`)})
  `.execute(trx)
  if (index === 'messages_fts_trigram') await dropNuls(trx, ids)
  return { first: ids.at(-1), messages: ids.length, tookMs: performance.now() - startedAt }
}

/** Makes the index anew without a message, and the triggers that add those to come. */
async function empty(
  trx: Transaction<Database>,
  index: (typeof INDEXES)[number],
  objects: Readonly<Record<string, string>>,
): Promise<void> {
  const triggers = ['insert', 'delete', 'update'].map((event) => `${index}_${event}`)
  for (const trigger of triggers) await sql`drop trigger if exists ${sql.id(trigger)}`.execute(trx)
  await sql`drop table if exists ${sql.id(index)}`.execute(trx)
  for (const name of [index, ...triggers]) await sql.raw(objects[name]!).execute(trx)
}

async function countMessages(db: Handle): Promise<number> {
  const { count } = await db.read
    .selectFrom('messages')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

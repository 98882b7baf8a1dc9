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
type Index = (typeof INDEXES)[number]

/** Aimed at: long enough to be worth a COMMIT, too short for anybody to notice. */
const STEP_MS = 20
/** Other processes only poll for the lock. */
const PAUSE_MS = 5

/**
 * The key in `state_meta` under which it stands how far a rebuild has got. While it is there,
 * `openStore` leaves the rest to the next rebuild (`0011_inline_indexes.ts`).
 */
const MARK = 'store_index_rebuild'

/** The index that is being filled, and the id before which it still lacks messages. */
interface Progress {
  readonly index: Index
  readonly before: number
}

/**
 * Builds both full-text indexes anew in short steps, between which everybody else can write; one that
 * was stopped or killed goes on where it was. From the newest message to the oldest: an index whose
 * first message is not the file's first is known to be incomplete, here and by search, until the very
 * last step.
 */
export async function rebuildIndexes(
  db: Handle,
  objects: Readonly<Record<string, string>>,
  { onProgress, signal }: RebuildOptions,
): Promise<void> {
  signal?.throwIfAborted()
  const begun = await db.write((trx) => begin(trx, objects), { isLong: true })
  const messages = await countMessages(db)
  const total = INDEXES.length * messages
  for (const index of INDEXES.slice(INDEXES.indexOf(begun.index))) {
    let before: number | undefined = index === begun.index ? begun.before : LAST_ID
    let done = INDEXES.indexOf(index) * messages + (await countMessages(db, before))
    let rows = 50
    while (before !== undefined) {
      signal?.throwIfAborted()
      const step: Step = await db.write(
        (trx) => indexBefore(trx, { index, before: before! }, rows),
        { isLong: true },
      )
      before = step.first
      done += step.messages
      if (before !== undefined) onProgress?.(done, total)
      if (step.tookMs > STEP_MS * 2) rows = Math.max(1, Math.floor(rows / 2))
      else if (step.tookMs < STEP_MS / 2) rows *= 2
      await sleep(PAUSE_MS)
    }
  }
  await db.write((trx) => trx.deleteFrom('state_meta').where('key', '=', MARK).execute())
}

const LAST_ID = Number.MAX_SAFE_INTEGER

/** Where an earlier rebuild has stopped, if both indexes are as it left them; else from the start. */
async function begin(
  trx: Transaction<Database>,
  objects: Readonly<Record<string, string>>,
): Promise<Progress> {
  const row = await trx
    .selectFrom('state_meta')
    .select('value')
    .where('key', '=', MARK)
    .executeTakeFirst()
  const [name, before] = row?.value?.split(' ') ?? []
  const index = INDEXES.find((known) => known === name)
  if (index && Number(before) > 0 && (await hasAll(trx, objects))) {
    return { index, before: Number(before) }
  }
  // Both at first, so that neither is trusted before both are whole.
  for (const each of INDEXES) await empty(trx, each, objects)
  const start = { index: INDEXES[0], before: LAST_ID }
  await mark(trx, start)
  return start
}

async function hasAll(
  trx: Transaction<Database>,
  objects: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master`.execute(trx)
  const names = new Set(rows.map(({ name }) => name))
  return Object.keys(objects).every((name) => names.has(name))
}

async function mark(trx: Transaction<Database>, { index, before }: Progress): Promise<void> {
  const value = `${index} ${before}`
  await trx
    .insertInto('state_meta')
    .values({ key: MARK, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

interface Step {
  /** The lowest id of the step; undefined when nothing was left. */
  readonly first: number | undefined
  readonly messages: number
  readonly tookMs: number
}

async function indexBefore(
  trx: Transaction<Database>,
  { index, before }: Progress,
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
  const first = ids.at(-1)
  if (first !== undefined) await mark(trx, { index, before: first })
  return { first, messages: ids.length, tookMs: performance.now() - startedAt }
}

/** Makes the index anew without a message, and the triggers that add those to come. */
async function empty(
  trx: Transaction<Database>,
  index: Index,
  objects: Readonly<Record<string, string>>,
): Promise<void> {
  const triggers = ['insert', 'delete', 'update'].map((event) => `${index}_${event}`)
  for (const trigger of triggers) await sql`drop trigger if exists ${sql.id(trigger)}`.execute(trx)
  await sql`drop table if exists ${sql.id(index)}`.execute(trx)
  for (const name of [index, ...triggers]) await sql.raw(objects[name]!).execute(trx)
}

async function countMessages(db: Handle, from?: number): Promise<number> {
  const count = db.heavy.selectFrom('messages').select((eb) => eb.fn.countAll<number>().as('count'))
  const wanted = from === undefined ? count : count.where('id', '>=', from)
  return (await wanted.executeTakeFirstOrThrow()).count
}

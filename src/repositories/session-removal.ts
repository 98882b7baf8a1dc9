import { sql, type Transaction } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { lookupText, optionalText, requireObject, requireText } from './input.ts'
import { deleteMessages, haveLong } from './message-writes.ts'
import { removeTranscripts } from './transcript-files.ts'

/** What is deleted with a session. */
export interface DeleteOptions {
  /** Where the agent keeps its transcripts; those of the deleted sessions are removed. */
  transcriptFolder?: string
}

/** Which of the sessions that have ended are old enough to be deleted (spec §14). */
export interface PruneOptions extends DeleteOptions {
  /** Counted from the start of a session; 90 by default, 0 for everything that has ended. */
  olderThanDays?: number
  /** Only sessions of this source. */
  source?: string
}

const SECONDS_PER_DAY = 86_400

/** What one transaction of a long clean-up may take on, so that the agent gets at the lock between two. */
const SESSIONS_PER_STEP = 500
const MESSAGES_PER_STEP = 1_000

/**
 * Deletes a session with its messages; its children stay, without a parent (spec §14).
 * @returns whether there was such a session.
 * @throws {InvalidInputError} for a folder inside a transaction: that may yet be rolled back.
 */
export async function deleteSession(
  db: Handle,
  id: string,
  options: DeleteOptions = {},
): Promise<boolean> {
  const sessionId = lookupText('id', id)
  const folder = transcriptFolder(db, options)
  const deleted = await db.write(
    async (trx) => {
      if (!(await exists.first(trx, { id: sessionId }))) return false
      await removeSessions(trx, [sessionId])
      return true
    },
    { isLong: await haveLong(db, [sessionId]) },
  )
  if (deleted && folder !== undefined) await removeTranscripts(folder, [sessionId])
  return deleted
}

/**
 * Deletes the sessions that have ended and began that long ago (spec §14), each as a whole, in several
 * transactions. Returns how many.
 * @throws {InvalidInputError}
 */
export async function pruneSessions(db: Handle, options: PruneOptions = {}): Promise<number> {
  requireObject('options', options)
  const { olderThanDays = 90 } = options
  if (!Number.isFinite(olderThanDays) || olderThanDays < 0) {
    throw new InvalidInputError('olderThanDays', 'must be a number from 0 up')
  }
  const folder = transcriptFolder(db, options)
  const choice = {
    before: nowSeconds() - olderThanDays * SECONDS_PER_DAY,
    source: optionalText('source', options.source) || null,
    limit: SESSIONS_PER_STEP,
  }
  return inSteps(db, { isLong: true }, folder, async (trx) => {
    const ids = firstOf(await prunable.all(trx, choice))
    if (ids.length > 0) await removeSessions(trx, ids)
    return ids
  })
}

/** As many as one transaction may take on, and the first at least, however long it is. */
function firstOf(sessions: readonly { id: string; messages: number }[]): string[] {
  let messages = 0
  const ids: string[] = []
  for (const session of sessions) {
    messages += session.messages
    if (ids.length > 0 && messages > MESSAGES_PER_STEP) break
    ids.push(session.id)
  }
  return ids
}

/**
 * Deletes the empty, untitled sessions that a terminal left behind more than a day ago (spec §7).
 * Returns how many. One that another session names as its parent is kept, because without it that
 * session would lose its place in the lineage; the agent fails and deletes none.
 */
export async function pruneGhosts(db: Handle, options: DeleteOptions = {}): Promise<number> {
  const folder = transcriptFolder(db, options)
  const choice = { before: nowSeconds() - SECONDS_PER_DAY, limit: SESSIONS_PER_STEP }
  return inSteps(db, { isLong: false }, folder, async (trx) => {
    const ids = (await ghosts.all(trx, choice)).map((row) => row.id)
    if (ids.length > 0) await removeRows.run(trx, { ids: JSON.stringify(ids) })
    return ids
  })
}

/**
 * Ends the continuations that were begun by a compression more than a week ago and never used
 * (spec §7). Returns how many; nothing is deleted.
 */
export async function finalizeOrphanedCompressions(db: Handle): Promise<number> {
  const now = nowSeconds()
  return db.write(async (trx) => {
    const { numAffectedRows } = await endOrphans.run(trx, {
      now,
      before: now - 7 * SECONDS_PER_DAY,
    })
    return Number(numAffectedRows)
  })
}

/** Runs `step` in one transaction after another until it finds nothing more to delete. */
async function inSteps(
  db: Handle,
  { isLong }: { isLong: boolean },
  folder: string | undefined,
  step: (trx: Transaction<Database>) => Promise<string[]>,
): Promise<number> {
  let count = 0
  let ids: string[]
  do {
    ids = await db.write(step, { isLong })
    count += ids.length
    if (folder !== undefined && ids.length > 0) await removeTranscripts(folder, ids)
  } while (ids.length > 0)
  return count
}

async function removeSessions(trx: Transaction<Database>, sessionIds: string[]): Promise<void> {
  const ids = JSON.stringify(sessionIds)
  await orphanChildren.run(trx, { ids })
  await deleteMessages(trx, sessionIds)
  await removeRows.run(trx, { ids })
}

function transcriptFolder(db: Handle, options: DeleteOptions): string | undefined {
  requireObject('options', options)
  if (options.transcriptFolder === undefined) return undefined
  if (db.read.isTransaction) {
    throw new InvalidInputError('transcriptFolder', 'is not possible inside a transaction')
  }
  return requireText('transcriptFolder', options.transcriptFolder)
}

const exists = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('sessions').select('id').where('id', '=', p.id),
)

const prunable = prepare<{ before: number; source: string | null; limit: number }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select((eb) => [
      'id',
      eb
        .selectFrom('messages')
        .select((inner) => inner.fn.countAll<number>().as('count'))
        .whereRef('messages.session_id', '=', 'sessions.id')
        .$asScalar()
        .$notNull()
        .as('messages'),
    ])
    .where('started_at', '<', p.before)
    .where('ended_at', 'is not', null)
    .where(sql<boolean>`(${p.source} is null or source = ${p.source})`)
    .orderBy('started_at')
    .limit(p.limit),
)

const orphanChildren = prepare<{ ids: string }>()((db, p) =>
  db
    .updateTable('sessions')
    .set({ parent_session_id: null })
    .where('parent_session_id', 'in', sql<string>`(select value from json_each(${p.ids}))`),
)

const removeRows = prepare<{ ids: string }>()((db, p) =>
  db.deleteFrom('sessions').where('id', 'in', sql<string>`(select value from json_each(${p.ids}))`),
)

const ghosts = prepare<{ before: number; limit: number }>()((db, p) =>
  db
    .selectFrom('sessions as ghost')
    .select('ghost.id')
    .where('ghost.source', '=', 'tui')
    .where('ghost.title', 'is', null)
    .where('ghost.ended_at', 'is not', null)
    .where('ghost.started_at', '<', p.before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('messages')
            .select('messages.id')
            .whereRef('messages.session_id', '=', 'ghost.id'),
        ),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('sessions as child')
            .select('child.id')
            .whereRef('child.parent_session_id', '=', 'ghost.id'),
        ),
      ),
    )
    .limit(p.limit),
)

const endOrphans = prepare<{ now: number; before: number }>()((db, p) =>
  db
    .updateTable('sessions')
    .set({ ended_at: p.now, end_reason: 'orphaned_compression' })
    .where('api_call_count', '=', 0)
    .where('ended_at', 'is', null)
    .where('end_reason', 'is', null)
    .where('started_at', '<', p.before)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('sessions as parent')
          .select('parent.id')
          .whereRef('parent.id', '=', 'sessions.parent_session_id')
          .where('parent.end_reason', '=', 'compression')
          .where('parent.ended_at', 'is not', null),
      ),
    )
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('messages')
          .select('messages.id')
          .whereRef('messages.session_id', '=', 'sessions.id'),
      ),
    ),
)

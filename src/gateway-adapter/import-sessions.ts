import { readFile } from 'node:fs/promises'

import { sql, type Kysely, type Transaction } from 'kysely'

import { flagOf } from '../repositories/input.ts'
import type { Database } from '../schema/database.ts'
import type { Store } from '../store.ts'
import { optionsOf } from './arguments.ts'
import type { Chat } from './chat.ts'
import {
  readHermesIndex,
  type IndexedChat,
  type IndexOptions,
  type IndexProblem,
  type UnusableEntry,
} from './hermes-index.ts'
import { addRoute, findRoute, pointRoute } from './routes.ts'

/** How Hermes' index is read, and whether it is taken over. */
export interface ImportOptions extends IndexOptions {
  /** Without it nothing is written: the report says what would be. */
  readonly apply?: boolean | undefined
}

/** What becomes of one entry of Hermes' index. */
export interface ImportedChat {
  /** Hermes' key of the chat. */
  readonly key: string
  readonly sessionId: string | null
  /**
   * `new`: the chat goes on in that session from now on. `same`: it was in it before. `taken`: it is in
   * another one, and stays there. `missing`: the file has no such session. The rest: see `IndexProblem`.
   */
  readonly outcome: 'new' | 'same' | 'taken' | 'missing' | IndexProblem
}

type Entry = IndexedChat | UnusableEntry

/** So many chats a transaction: everybody else waits meanwhile. */
const BATCH = 100

/**
 * Takes over which chat is in which session from the `sessions.json` of Hermes' own gateway. The file is
 * only read. What a chat has here already is never changed, so that doing it again does nothing.
 * @throws {InvalidInputError} when the file holds no such index, and as `readFile` when it cannot be read.
 */
export async function importSessions(
  store: Store,
  file: string,
  options?: ImportOptions,
): Promise<ImportedChat[]> {
  const { apply, ...indexOptions } = optionsOf('options', options)
  const entries = readHermesIndex(await readFile(file, 'utf8'), indexOptions)
  if (!flagOf('apply', apply, false)) return preview(store.db, entries)

  await store.ensureOwnTables()
  const report: ImportedChat[] = []
  for (let at = 0; at < entries.length; at += BATCH) {
    const batch = entries.slice(at, at + BATCH)
    report.push(...(await store.transaction(({ db }) => takeOver(db, batch))))
  }
  return report
}

async function preview(db: Kysely<Database>, entries: readonly Entry[]): Promise<ImportedChat[]> {
  const hasRoutes = await hasOwnTables(db)
  const report: ImportedChat[] = []
  for (const entry of entries) {
    const outcome = 'problem' in entry ? entry.problem : await outcomeOf(db, entry, hasRoutes)
    report.push({ key: entry.key, sessionId: entry.sessionId, outcome })
  }
  return report
}

async function takeOver(
  trx: Transaction<Database>,
  entries: readonly Entry[],
): Promise<ImportedChat[]> {
  const report = await preview(trx, entries)
  for (const [index, entry] of entries.entries()) {
    if (report[index]?.outcome !== 'new' || 'problem' in entry) continue
    const routeId = await addRoute(trx, await withOwner(trx, entry))
    await pointRoute(trx, routeId, entry.sessionId, entry)
  }
  return report
}

async function outcomeOf(
  db: Kysely<Database>,
  { sessionId, chat }: IndexedChat,
  hasRoutes: boolean,
): Promise<'new' | 'same' | 'taken' | 'missing'> {
  const session = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', sessionId)
    .executeTakeFirst()
  if (!session) return 'missing'
  const route = hasRoutes ? await findRoute(db, chat.parts) : undefined
  if (!route) return 'new'
  return route.session?.id === sessionId ? 'same' : 'taken'
}

/** Whom a direct chat belongs to the session knows when the entry does not. */
async function withOwner(
  trx: Transaction<Database>,
  { sessionId, chat }: IndexedChat,
): Promise<Chat> {
  if (chat.ownerId !== '' || chat.parts.chatType !== 'dm') return chat
  const session = await trx
    .selectFrom('sessions')
    .select('user_id')
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return { ...chat, ownerId: session?.user_id ?? '' }
}

/** A file that no gateway of ours was ever opened on has none, and a preview makes none. */
async function hasOwnTables(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`
    select 1 from sqlite_master where name = 'store_chat_aliases'
  `.execute(db)
  return rows.length > 0
}

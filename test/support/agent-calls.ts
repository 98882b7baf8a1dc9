import { sql } from 'kysely'

import { InvalidInputError, SessionNotFoundError, type Store } from '../../src/index.ts'
import { toAgentRow, toOurNames } from './agent-rows.ts'

/** A call of the agent's store with its outcome, as recorded. */
export interface AgentCall {
  /** When it was made, in seconds. */
  t: number
  call: string
  args: unknown[]
  kwargs: Record<string, unknown>
  result?: unknown
  error?: { type: string; message: string }
}

/** Makes our counterpart of a recorded call. `folder` stands for the agent's `$DIR`. */
export async function performAgentCall(
  store: Store,
  { call, args, kwargs: { sessions_dir: filesAt, ...kwargs } }: AgentCall,
  folder: string,
): Promise<unknown> {
  const [first, second, third] = args
  const id = first as string
  const files = filesAt === '$DIR' ? { transcriptFolder: folder } : {}
  switch (call) {
    case '$sql':
      await store.transaction((tx) => sql.raw(id).execute(tx.db))
      return []
    case 'create_session':
      return store.sessions.create({
        id,
        source: second as string,
        ...toOurNames(kwargs),
      })
    case 'end_session':
      return orNull(store.sessions.end(id, second as string))
    case 'set_session_title':
      return store.titles.set(id, second as string)
    case 'get_session': {
      const session = await store.sessions.find(id)
      return session ? toAgentRow(session) : null
    }
    case 'session_count':
      return store.sessions.count()
    case 'append_message':
      return store.messages.append(id, {
        ...toOurNames(kwargs),
        role: second as string,
      })
    case 'replace_messages': {
      const messages = (second as object[]).map((message) => toOurNames(message))
      return orNull(store.messages.replaceAll(id, messages))
    }
    case 'clear_messages':
      return orNull(store.messages.clear(id))
    case 'get_messages':
      return (await store.messages.list(id)).map(toAgentRow)
    case 'message_count':
      return store.messages.count(first as string | undefined)
    case 'search_messages':
      return (await store.search.messages(id)).map((hit) => toAgentRow(hit))
    case 'delete_session':
      return store.sessions.delete(id, files)
    case 'prune_sessions':
      return store.sessions.prune({
        ...files,
        ...(first !== undefined && { olderThanDays: Number(first) }),
        ...(typeof kwargs['source'] === 'string' && { source: kwargs['source'] }),
      })
    case 'prune_empty_ghost_sessions':
      return store.sessions.pruneGhosts(files)
    case 'finalize_orphaned_compression_sessions':
      return store.sessions.finalizeOrphanedCompressions()
    case 'get_meta':
      return store.meta.get(id)
    case 'set_meta':
      return orNull(store.meta.set(id, second as string))
    case 'maybe_auto_prune_and_vacuum':
      return store.maintenance.autoPrune({
        ...files,
        ...(first !== undefined && { retentionDays: Number(first) }),
        ...(second !== undefined && { minIntervalHours: Number(second) }),
        ...(third !== undefined && { vacuum: Boolean(third) }),
        ...toOurNames(kwargs),
      })
    default:
      throw new Error(`no counterpart to ${call}`)
  }
}

/** Our error, under the name it has with the agent. */
export function toAgentError(error: unknown): AgentCall['error'] {
  if (error instanceof SessionNotFoundError) {
    return { type: 'IntegrityError', message: 'FOREIGN KEY constraint failed' }
  }
  if (error instanceof InvalidInputError && error.field.endsWith('role')) {
    return { type: 'IntegrityError', message: 'NOT NULL constraint failed: messages.role' }
  }
  throw error
}

async function orNull(work: Promise<unknown>): Promise<null> {
  await work
  return null
}

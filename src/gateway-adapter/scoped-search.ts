import { limitOf } from '../repositories/input.ts'
import type { SearchHit } from '../repositories/search-hit.ts'
import type { Store } from '../store.ts'
import type { Chat } from './chat.ts'
import { scopeOf, sessionIdsInScope, type Listing } from './scope.ts'

/** Finds what was said in the sessions in scope (spec §13). */
export async function searchSessions(
  store: Store,
  chat: Chat,
  query: string,
  options: Listing,
): Promise<SearchHit[]> {
  const scope = scopeOf(options)
  const limit = limitOf('limit', options.limit, -1)
  const sessionIds = await sessionIdsInScope(store.db, chat, scope)
  return store.search.messages(query, { limit, ...(sessionIds && { sessionIds }) })
}

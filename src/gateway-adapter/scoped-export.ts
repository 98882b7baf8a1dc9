import type { ExportedSession } from '../repositories/export-repository.ts'
import type { Store } from '../store.ts'
import type { Chat } from './chat.ts'
import { scopeOf, sessionIdsInScope, type InScope } from './scope.ts'

/**
 * The sessions in scope with their messages, in the order they were begun for `lane` and `user`. Each is
 * read when it is asked for; one deleted meanwhile is left out.
 */
export async function* exportSessions(
  store: Store,
  chat: Chat,
  options: InScope,
): AsyncGenerator<ExportedSession> {
  const sessionIds = await sessionIdsInScope(store.db, chat, scopeOf(options))
  if (sessionIds === undefined) {
    yield* store.exports.all()
    return
  }
  for (const id of sessionIds) {
    const session = await store.exports.session(id)
    if (session) yield session
  }
}

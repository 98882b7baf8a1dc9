import type { Handle } from '../database/handle.ts'
import type { Store } from '../store.ts'

const prepared = new WeakSet<Store>()

/**
 * The store as the repositories of our own tables take it, once they are in the file.
 * @throws {ReadonlyError | SchemaTooNewError} when they are missing and the store cannot write.
 */
export async function ownTables(store: Store): Promise<Pick<Handle, 'read' | 'write'>> {
  if (!prepared.has(store)) {
    await store.ensureOwnTables()
    prepared.add(store)
  }
  return { read: store.db, write: (change) => store.transaction((tx) => change(tx.db)) }
}

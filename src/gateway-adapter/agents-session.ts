import { HistoryConflictError, InvalidInputError } from '../errors.ts'
import { requireObject } from '../repositories/input.ts'
import { keyOf } from '../repositories/key-space.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store, StoreTransaction } from '../store.ts'
import { appendItems, dropItems, newestItems } from './agent-history.ts'
import { digestOf, encodeItem, type AgentItem } from './agent-item-codec.ts'
import { ownTables } from './own-tables.ts'

/** Which session an `AgentsSession` is. */
export interface AgentsSessionOptions {
  /** A session of the store, for instance a lane's; it is made if there is none. A new one when absent. */
  readonly sessionId?: string | undefined
  /** The source of a session that is made. */
  readonly source: string
}

/** A change of the history as OpenAI Agents JS asks for it. */
export type HistoryTransaction<Item> =
  | { type: 'append_items'; items: Item[] }
  | { type: 'replace_suffix'; expectedSuffix: Item[]; replacement: Item[] }

/**
 * A session of the store as OpenAI Agents JS takes it, for the runner's `session` option. Items come
 * back as they were put in, and Hermes sees them as messages; what Hermes adds, changes or deletes
 * is seen here. `Item` is the library's `AgentInputItem`.
 */
export class AgentsSession<Item extends object> {
  readonly #store: Store
  readonly #options: AgentsSessionOptions
  #sessionId: Promise<string> | undefined

  constructor(store: Store, options: AgentsSessionOptions) {
    this.#store = store
    requireObject('options', options)
    this.#options = options
  }

  /** The same each time; the session exists then. */
  async getSessionId(): Promise<string> {
    this.#sessionId ??= this.#begin()
    try {
      return await this.#sessionId
    } catch (error) {
      this.#sessionId = undefined
      throw error
    }
  }

  /** The newest `limit` items, all without it, oldest first. */
  async getItems(limit = Infinity): Promise<Item[]> {
    if (typeof limit !== 'number') throw new InvalidInputError('limit', 'must be a number')
    const sessionId = await this.getSessionId()
    return (await newestItems(this.#store.db, sessionId, limit)) as Item[]
  }

  /** Adds all of them or none. @throws {InvalidInputError} for what JSON cannot hold. */
  async addItems(items: readonly Item[]): Promise<void> {
    const added = checkedItems(items, 'items')
    if (added.length === 0) return
    await this.#write((tx, sessionId) => appendItems(tx.db, sessionId, added))
  }

  /** Takes the newest item out. */
  async popItem(): Promise<Item | undefined> {
    return this.#write(async (tx, sessionId) => {
      const [item] = await newestItems(tx.db, sessionId, 1)
      if (item !== undefined) await dropItems(tx.db, sessionId, 1)
      return item as Item | undefined
    })
  }

  /** Deletes the session's messages, Hermes' own among them; the session stays. */
  async clearSession(): Promise<void> {
    await this.#write(async (tx, sessionId) => {
      await tx.messages.clear(sessionId)
      await tx.db.deleteFrom('store_agent_operations').where('session_id', '=', sessionId).execute()
    })
  }

  /**
   * Changes the history once, however often it is called with this operation id.
   * @throws {HistoryConflictError} when the id was used for another change, or the history does not
   *   end with `expectedSuffix`. Nothing is changed then.
   */
  async applyHistoryTransaction(args: {
    operationId: string
    transaction: HistoryTransaction<Item>
  }): Promise<void> {
    requireObject('args', args)
    requireObject('transaction', args.transaction)
    const operationId = keyOf('operationId', args.operationId)
    if (operationId.trim() === '') throw new InvalidInputError('operationId', 'must not be blank')
    const { remove, add } = checkedTransaction(args.transaction)
    const digest = digestOf(JSON.stringify([args.transaction.type]), jsonOf(remove), jsonOf(add))
    await this.#write(async (tx, sessionId) => {
      const applied = await findOperation(tx, sessionId, operationId)
      if (applied === digest) return
      if (applied !== undefined) {
        throw new HistoryConflictError(operationId, 'was already applied with another transaction')
      }
      const suffix = await newestItems(tx.db, sessionId, remove.length)
      if (digestOf(jsonOf(suffix)) !== digestOf(jsonOf(remove))) {
        throw new HistoryConflictError(operationId, 'expects another end of the history')
      }
      if (remove.length > 0) await dropItems(tx.db, sessionId, remove.length)
      await appendItems(tx.db, sessionId, add)
      await recordOperation(tx, { sessionId, operationId, digest })
    })
  }

  async #begin(): Promise<string> {
    await ownTables(this.#store)
    const { sessionId, source } = this.#options
    if (sessionId === undefined) return this.#store.sessions.create({ source })
    return this.#store.sessions.ensure(sessionId, { source })
  }

  /** Hermes may have deleted the session meanwhile: it is made again, empty. */
  async #write<T>(change: (tx: StoreTransaction, sessionId: string) => Promise<T>): Promise<T> {
    const sessionId = await this.getSessionId()
    return this.#store.transaction(async (tx) => {
      await tx.sessions.ensure(sessionId, { source: this.#options.source })
      return change(tx, sessionId)
    })
  }
}

/** Copies, so that what the caller changes later changes nothing here. */
function checkedItems(items: unknown, field: string): AgentItem[] {
  if (!Array.isArray(items)) throw new InvalidInputError(field, 'must be a list of items')
  items.forEach((item: unknown, index) => encodeItem(item, `${field}[${index}]`))
  return structuredClone(items) as AgentItem[]
}

function checkedTransaction(transaction: HistoryTransaction<object>): {
  remove: AgentItem[]
  add: AgentItem[]
} {
  if (transaction.type === 'append_items') {
    return { remove: [], add: checkedItems(transaction.items, 'transaction.items') }
  }
  if (transaction.type !== 'replace_suffix') {
    throw new InvalidInputError('transaction.type', "must be 'append_items' or 'replace_suffix'")
  }
  return {
    remove: checkedItems(transaction.expectedSuffix, 'transaction.expectedSuffix'),
    add: checkedItems(transaction.replacement, 'transaction.replacement'),
  }
}

function jsonOf(items: readonly AgentItem[]): string {
  return `[${items.map((item) => encodeItem(item, 'item')).join(',')}]`
}

async function findOperation(
  { db }: StoreTransaction,
  sessionId: string,
  operationId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('store_agent_operations')
    .select('content_digest')
    .where('session_id', '=', sessionId)
    .where('operation_id', '=', operationId)
    .executeTakeFirst()
  return row?.content_digest
}

async function recordOperation(
  { db }: StoreTransaction,
  operation: { sessionId: string; operationId: string; digest: string },
): Promise<void> {
  await db
    .insertInto('store_agent_operations')
    .values({
      session_id: operation.sessionId,
      operation_id: operation.operationId,
      content_digest: operation.digest,
      applied_at: nowSeconds(),
    })
    .execute()
}

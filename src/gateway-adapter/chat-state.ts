import { randomUUID } from 'node:crypto'

import { requireObject, requireText } from '../repositories/input.ts'
import type { KeySpace } from '../repositories/key-space.ts'
import { KeyValueRepository } from '../repositories/key-value-repository.ts'
import { ListRepository } from '../repositories/list-repository.ts'
import { parsePythonJson, toPythonJson } from '../schema/python-json.ts'
import type { Store } from '../store.ts'
import { ownTables } from './own-tables.ts'

/** As Chat SDK declares it; `expiresAt` in milliseconds since the epoch. */
export interface ChatLock {
  threadId: string
  token: string
  expiresAt: number
}

/** What Chat SDK asks of an entry; `message` is its own and stays what JSON makes of it. */
export interface ChatQueueEntry {
  enqueuedAt: number
  expiresAt: number
  message: unknown
}

/**
 * Chat SDK's `StateAdapter` on the file, for its `state` option: several processes may share the
 * namespace. The store stays open when the chat disconnects.
 */
export class ChatState {
  readonly #store: Store
  readonly #namespace: string

  constructor(store: Store, options: { namespace: string }) {
    requireObject('options', options)
    this.#store = store
    this.#namespace = requireText('namespace', options.namespace)
  }

  /** @throws {ReadonlyError} when our tables are missing and the store cannot write. */
  async connect(): Promise<void> {
    await ownTables(this.#store)
  }

  /** Nothing to do: the store is the caller's. */
  async disconnect(): Promise<void> {}

  /** Kept for ever, until `unsubscribe`. @throws {InvalidInputError} for a lone surrogate, here and below. */
  async subscribe(threadId: string): Promise<void> {
    await (await this.#keys('subscription')).set(threadId, 'true')
  }

  /** Passed over when there was none. */
  async unsubscribe(threadId: string): Promise<void> {
    await (await this.#keys('subscription')).delete(threadId)
  }

  /** Whether some process has subscribed. */
  async isSubscribed(threadId: string): Promise<boolean> {
    return (await (await this.#keys('subscription')).find(threadId)) !== undefined
  }

  /** Null when somebody holds it; a holder that died holds it until it expires. */
  async acquireLock(threadId: string, ttlMs: number): Promise<ChatLock | null> {
    const token = randomUUID()
    const expiresAt = Date.now() + ttlMs
    const locks = await this.#keys('lock')
    return (await locks.setIfAbsent(threadId, token, ttlMs)) ? { threadId, token, expiresAt } : null
  }

  /** Does nothing when the lock is somebody else's by now. */
  async releaseLock({ threadId, token }: ChatLock): Promise<void> {
    await (await this.#keys('lock')).deleteIf(threadId, token)
  }

  /** Milliseconds from now; false when the lock has expired or is somebody else's. */
  async extendLock({ threadId, token }: ChatLock, ttlMs: number): Promise<boolean> {
    return (await this.#keys('lock')).extend(threadId, token, ttlMs)
  }

  /** Whoever holds it. */
  async forceReleaseLock(threadId: string): Promise<void> {
    await (await this.#keys('lock')).delete(threadId)
  }

  /** Null for a key that is absent or has expired. */
  async get<T = unknown>(key: string): Promise<T | null> {
    const text = await (await this.#keys('value')).find(key)
    return text === undefined ? null : (parsePythonJson(text) as T)
  }

  /** A `ttlMs` of 0 is none, here and below. */
  async set(key: string, value: unknown, ttlMs?: number): Promise<void> {
    await (await this.#keys('value')).set(key, jsonOf(value), ttlMs || undefined)
  }

  /** False when the key is there; of several processes at once one gets true. */
  async setIfNotExists(key: string, value: unknown, ttlMs?: number): Promise<boolean> {
    return (await this.#keys('value')).setIfAbsent(key, jsonOf(value), ttlMs || undefined)
  }

  /** Deletes the value and the list of that key. */
  async delete(key: string): Promise<void> {
    await (await this.#keys('value')).delete(key)
    await (await this.#lists('list')).delete(key)
  }

  /** The newest `maxLength` are kept; `ttlMs` is that of the whole list, from now. */
  async appendToList(
    key: string,
    value: unknown,
    options: { maxLength?: number; ttlMs?: number } = {},
  ): Promise<void> {
    await (
      await this.#lists('list')
    ).append(key, jsonOf(value), {
      ttlMs: options.ttlMs || undefined,
      maxLength: options.maxLength || undefined,
    })
  }

  /** Oldest first; empty when it is absent or has expired. */
  async getList<T = unknown>(key: string): Promise<T[]> {
    const texts = await (await this.#lists('list')).items(key)
    return texts.map((text) => parsePythonJson(text) as T)
  }

  /** The newest `maxSize` are kept. Returns how many there are then. */
  async enqueue(threadId: string, entry: ChatQueueEntry, maxSize: number): Promise<number> {
    const until = entry.expiresAt / 1000
    const queues = await this.#lists('queue')
    // Not `jsonOf`: `message.raw` is whatever the platform's client made, functions and all.
    return queues.enqueue(threadId, JSON.stringify(entry), { until, maxLength: maxSize })
  }

  /** Entries that have expired are passed over. */
  async dequeue<E extends ChatQueueEntry>(threadId: string): Promise<E | null> {
    const text = await (await this.#lists('queue')).shift(threadId)
    return text === undefined ? null : (parsePythonJson(text) as unknown as E)
  }

  /** How many wait, the expired left out. */
  async queueDepth(threadId: string): Promise<number> {
    return (await this.#lists('queue')).length(threadId)
  }

  async #keys(kind: KeySpace['kind']): Promise<KeyValueRepository> {
    return new KeyValueRepository(await ownTables(this.#store), {
      namespace: this.#namespace,
      kind,
    })
  }

  async #lists(kind: KeySpace['kind']): Promise<ListRepository> {
    return new ListRepository(await ownTables(this.#store), { namespace: this.#namespace, kind })
  }
}

function jsonOf(value: unknown): string {
  return toPythonJson(value, { ascii: true })
}

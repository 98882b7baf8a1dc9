import { requireObject, requireText } from '../repositories/input.ts'
import { KeyValueRepository, type KeyValue } from '../repositories/key-value-repository.ts'
import { parsePythonJson, toPythonJson } from '../schema/python-json.ts'
import type { Store } from '../store.ts'
import { ownTables } from './own-tables.ts'

/** Where values are kept, and for how many milliseconds. */
export interface KeyValueOptions {
  /** Keys are unique in it. Give each plugin its own: what two write under one key, one of them loses. */
  readonly namespace: string
  /** How long a value lives after it was last written; for ever when absent. */
  readonly ttlMs?: number | undefined
}

/** What grammY's `session()` takes as `storage`, and its conversations plugin too. */
export interface GrammyStorage<T> {
  read(key: string): Promise<T | undefined>
  write(key: string, value: T): Promise<void>
  delete(key: string): Promise<void>
  has(key: string): Promise<boolean>
  readAllKeys(): AsyncIterable<string>
  readAllValues(): AsyncIterable<T>
  readAllEntries(): AsyncIterable<[key: string, value: T]>
}

/** What Telegraf's `session()` takes as `store`. */
export interface TelegrafSessionStore<T> {
  get(name: string): Promise<T | undefined>
  set(name: string, value: T): Promise<void>
  delete(name: string): Promise<void>
}

/** What Keyv takes as `store`. Its own `namespace` becomes a part of the keys. */
export interface KeyvStore {
  get(key: string): Promise<unknown>
  getMany(keys: readonly string[]): Promise<unknown[]>
  set(key: string, value: unknown, ttlMs?: number): Promise<boolean>
  setMany(entries: readonly { key: string; value: unknown; ttl?: number }[]): Promise<boolean[]>
  delete(key: string): Promise<boolean>
  deleteMany(keys: readonly string[]): Promise<boolean[]>
  has(key: string): Promise<boolean>
  hasMany(keys: readonly string[]): Promise<boolean[]>
  clear(): Promise<void>
  iterator(): AsyncGenerator<[key: string, value: unknown], void>
}

/** A value that is no JSON (a function, a Map, a cycle) fails with `InvalidInputError`; nothing is lost unseen. */
export function grammyStorage<T>(store: Store, options: KeyValueOptions): GrammyStorage<T> {
  const values = new JsonValues(store, options)
  return {
    read: (key) => values.get(key) as Promise<T | undefined>,
    write: (key, value) => values.set([{ key, value }]),
    delete: async (key) => void (await values.delete([key])),
    has: (key) => values.has(key),
    async *readAllKeys() {
      for await (const [key] of values.entries()) yield key
    },
    async *readAllValues() {
      for await (const [, value] of values.entries()) yield value as T
    },
    readAllEntries: () => values.entries() as AsyncGenerator<[string, T], void>,
  }
}

/** Values must be JSON. Rejects with `InvalidInputError` otherwise; nothing is lost unseen. */
export function telegrafSessionStore<T>(
  store: Store,
  options: KeyValueOptions,
): TelegrafSessionStore<T> {
  const values = new JsonValues(store, options)
  return {
    get: (name) => values.get(name) as Promise<T | undefined>,
    set: (name, value) => values.set([{ key: name, value }]),
    delete: async (name) => void (await values.delete([name])),
  }
}

/** Written with `async` throughout: Keyv tells by it that the store is none of the synchronous kind. */
export function keyvStore(store: Store, options: Pick<KeyValueOptions, 'namespace'>): KeyvStore {
  const values = new JsonValues(store, options)
  return {
    get: async (key) => values.get(key),
    getMany: async (keys) => Promise.all(keys.map((key) => values.get(key))),
    set: async (key, value, ttlMs) => {
      await values.set([{ key, value, ttlMs }])
      return true
    },
    setMany: async (entries) => {
      await values.set(entries.map(({ key, value, ttl }) => ({ key, value, ttlMs: ttl })))
      return entries.map(() => true)
    },
    delete: async (key) => (await values.delete([key]))[0] === true,
    deleteMany: async (keys) => values.delete(keys),
    has: async (key) => values.has(key),
    hasMany: async (keys) => Promise.all(keys.map((key) => values.has(key))),
    clear: async () => values.clear(),
    iterator: () => values.entries(),
  }
}

type Entry = Omit<KeyValue, 'value'> & { readonly value: unknown }

/** JSON values in one namespace. */
class JsonValues {
  readonly #store: Store
  readonly #options: KeyValueOptions

  constructor(store: Store, options: KeyValueOptions) {
    this.#store = store
    requireObject('options', options)
    requireText('namespace', options.namespace)
    this.#options = options
  }

  async get(key: string): Promise<unknown> {
    const text = await (await this.#repository()).find(key)
    return text === undefined ? undefined : parsePythonJson(text)
  }

  async has(key: string): Promise<boolean> {
    return (await (await this.#repository()).find(key)) !== undefined
  }

  async set(entries: readonly Entry[]): Promise<void> {
    // ASCII: a lone surrogate is kept as its escape, for which UTF-8 has no other form.
    const texts = entries.map(({ key, value, ttlMs }) => ({
      key,
      value: toPythonJson(value, { ascii: true }),
      ttlMs: ttlMs ?? this.#options.ttlMs,
    }))
    await (await this.#repository()).setMany(texts)
  }

  async delete(keys: readonly string[]): Promise<boolean[]> {
    return (await this.#repository()).deleteMany(keys)
  }

  async clear(): Promise<void> {
    await (await this.#repository()).clear()
  }

  async *entries(): AsyncGenerator<[key: string, value: unknown], void> {
    for await (const [key, text] of (await this.#repository()).entries()) {
      yield [key, parsePythonJson(text)]
    }
  }

  async #repository(): Promise<KeyValueRepository> {
    const { namespace } = this.#options
    return new KeyValueRepository(await ownTables(this.#store), { namespace, kind: 'value' })
  }
}

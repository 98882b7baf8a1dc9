/** Work under one key is done one after another, different keys at the same time. */
export class Queues {
  readonly #tails = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key)
    const { promise: tail, resolve: release } = Promise.withResolvers<void>()
    this.#tails.set(key, tail)
    try {
      await before
      return await work()
    } finally {
      release()
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }

  /** Resolves when nothing is queued. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values())
  }
}

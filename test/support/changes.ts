/** Thrown by `until` when nothing was found in time. */
export class WaitTimeoutError extends Error {
  override name = 'WaitTimeoutError'
}

/** How long a test waits for something that must happen; generous, since it is only spent on failure. */
export const PATIENCE_MS = 15_000

/** A condition variable: whoever changes the state calls `notify`, whoever waits for a state calls `until`. */
export class Changes {
  readonly #waiting = new Set<() => void>()

  notify(): void {
    for (const look of this.#waiting) look()
  }

  /**
   * Resolves with the first defined value `find` returns, now or after a `notify`; what `find` throws rejects.
   * @throws {WaitTimeoutError} after `timeoutMs`.
   */
  async until<T>(find: () => T | undefined, timeoutMs: number, describe: () => string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = setTimeout(
      () => reject(new WaitTimeoutError(`no ${describe()} within ${timeoutMs} ms`)),
      timeoutMs,
    )
    const look = () => {
      try {
        const found = find()
        if (found === undefined) return
        resolve(found)
      } catch (error) {
        reject(error)
      }
      // At once, not after the await: `find` may claim what it returns, and must not claim twice.
      this.#waiting.delete(look)
    }
    this.#waiting.add(look)
    look()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(look)
    }
  }
}

/** An append-only list that tests can wait on. */
export class Recorder<T extends object> {
  readonly items: T[] = []
  readonly #taken = new Set<T>()
  readonly #changes = new Changes()

  add(item: T): void {
    this.items.push(item)
    this.#changes.notify()
  }

  /** The oldest matching item that no earlier `next` returned, waiting for it if need be. */
  next(
    matches: (item: T) => boolean,
    timeoutMs: number = PATIENCE_MS,
    what: string = 'matching call',
  ): Promise<T> {
    return this.#changes.until(
      () => {
        const found = this.items.find((item) => !this.#taken.has(item) && matches(item))
        if (found !== undefined) this.#taken.add(found)
        return found
      },
      timeoutMs,
      () => `${what} (recorded: ${JSON.stringify(this.items).slice(0, 2000)})`,
    )
  }
}

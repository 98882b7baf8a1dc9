import type { Update } from 'grammy/types'
import { Changes, PATIENCE_MS, WaitTimeoutError } from './changes.ts'

export interface Poll {
  offset?: number
  limit?: number
  /** Seconds. */
  timeout?: number
  allowed_updates?: string[]
}

interface Entry {
  update: Update
  state: 'waiting' | 'delivered' | 'acknowledged'
}

/** The queue behind getUpdates: an update comes back with every poll until a higher offset acknowledges it. */
export class UpdateQueue {
  readonly #entries: Entry[] = []
  readonly #changes = new Changes()
  #allowed: string[] = []
  #polls = 0

  push(content: Omit<Update, 'update_id'>): Update {
    const update = { ...content, update_id: 700_000_001 + this.#entries.length }
    this.#entries.push({ update, state: 'waiting' })
    this.#changes.notify()
    return update
  }

  /** Delivers an update once more, whether or not it was acknowledged. */
  redeliver(updateId: number): void {
    this.#entry(updateId).state = 'waiting'
    this.#changes.notify()
  }

  acknowledgeAll(): void {
    for (const entry of this.#entries) entry.state = 'acknowledged'
    this.#changes.notify()
  }

  /** Holds until there is something to deliver; `undefined` when a later poll took over or the client hung up. */
  async poll(request: Poll, gone: AbortSignal): Promise<Update[] | undefined> {
    const ticket = ++this.#polls
    if (request.allowed_updates !== undefined) this.#allowed = request.allowed_updates
    this.#acknowledgeBelow(request.offset ?? 0)
    gone.addEventListener('abort', () => this.#changes.notify(), { once: true })
    try {
      const due = await this.#changes.until(
        () => {
          if (gone.aborted || ticket !== this.#polls) return []
          const batch = this.#due().slice(0, request.limit ?? 100)
          return batch.length > 0 || (request.timeout ?? 0) === 0 ? batch : undefined
        },
        (request.timeout ?? 0) * 1000,
        () => 'update',
      )
      if (gone.aborted || ticket !== this.#polls) return undefined
      for (const entry of due) entry.state = 'delivered'
      return due.map((entry) => entry.update)
    } catch (error) {
      if (error instanceof WaitTimeoutError) return []
      throw error
    }
  }

  /** Resolves when the client polled with an offset past this update, after its latest delivery. */
  async waitForAck(updateId: number, timeoutMs: number = PATIENCE_MS): Promise<void> {
    const entry = this.#entry(updateId)
    await this.#changes.until(
      () => (entry.state === 'acknowledged' ? entry : undefined),
      timeoutMs,
      () => `acknowledgement of update ${updateId}`,
    )
  }

  #due(): Entry[] {
    return this.#entries.filter(
      ({ state, update }) =>
        state !== 'acknowledged' &&
        (this.#allowed.length === 0 || this.#allowed.some((kind) => kind in update)),
    )
  }

  /** A redelivered update lies below the offset already; it counts as acknowledged only once it was sent again. */
  #acknowledgeBelow(offset: number): void {
    for (const entry of this.#entries) {
      if (entry.state === 'delivered' && entry.update.update_id < offset)
        entry.state = 'acknowledged'
    }
    this.#changes.notify()
  }

  #entry(updateId: number): Entry {
    const entry = this.#entries.find(({ update }) => update.update_id === updateId)
    if (entry === undefined) throw new Error(`no update ${updateId} was pushed`)
    return entry
  }
}

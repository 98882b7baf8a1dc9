interface Question {
  readonly sessionId: string
  readonly askedAt: number
}

/**
 * The messages of this process that wait for their turn, so that in a session the oldest comes first.
 * One that nobody has asked about for as long as a lease lasts is forgotten: its handler has ended.
 */
export class Waiting {
  readonly #patienceMs: number
  /** By message; the one that was asked about last is the last. */
  readonly #questions = new Map<number, Question>()
  readonly #changes = new Map<string, PromiseWithResolvers<void>>()

  constructor(leaseSeconds: number) {
    this.#patienceMs = leaseSeconds * 1000
  }

  /** Whether a message must let an older one of its session go first. */
  isBehind(sessionId: string, messageId: number): boolean {
    this.#forgetOld()
    for (const [id, question] of this.#questions) {
      if (id < messageId && question.sessionId === sessionId) return true
    }
    return false
  }

  ask(sessionId: string, messageId: number): void {
    this.#questions.delete(messageId)
    // Not by the clock of the wall, which may be set.
    this.#questions.set(messageId, { sessionId, askedAt: performance.now() })
  }

  /** It has begun, or needs no answer any more: the next one may ask. */
  end(messageId: number): void {
    const question = this.#questions.get(messageId)
    this.#questions.delete(messageId)
    if (question) this.free(question.sessionId)
  }

  /** A turn of this process in the session is over. */
  free(sessionId: string): void {
    this.#changes.get(sessionId)?.resolve()
    this.#changes.delete(sessionId)
  }

  /** Turns of this process are over, in whatever session. */
  freeAll(): void {
    for (const sessionId of this.#changes.keys()) this.free(sessionId)
  }

  /** Resolves when a turn of this process in the session ends, or a message of it waits no more. */
  change(sessionId: string): Promise<void> {
    const change = this.#changes.get(sessionId) ?? Promise.withResolvers<void>()
    this.#changes.set(sessionId, change)
    return change.promise
  }

  #forgetOld(): void {
    const since = performance.now() - this.#patienceMs
    for (const [id, { askedAt }] of this.#questions) {
      if (askedAt >= since) return
      this.#questions.delete(id)
    }
  }
}

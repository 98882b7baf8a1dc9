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

  /** It has begun, or needs no answer any more. */
  end(messageId: number): void {
    this.#questions.delete(messageId)
  }

  #forgetOld(): void {
    const since = performance.now() - this.#patienceMs
    for (const [id, { askedAt }] of this.#questions) {
      if (askedAt >= since) return
      this.#questions.delete(id)
    }
  }
}

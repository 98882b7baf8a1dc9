import type { Handle } from '../database/handle.ts'

export class SessionRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

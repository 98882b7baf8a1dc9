import type { Handle } from '../database/handle.ts'

export class MessageRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

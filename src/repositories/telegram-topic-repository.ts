import type { Handle } from '../database/handle.ts'

export class TelegramTopicRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

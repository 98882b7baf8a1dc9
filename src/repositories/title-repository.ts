import type { Handle } from '../database/handle.ts'

export class TitleRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

import type { Handle } from '../database/handle.ts'

export class SearchRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

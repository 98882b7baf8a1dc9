import type { Handle } from '../database/handle.ts'

export class LineageRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

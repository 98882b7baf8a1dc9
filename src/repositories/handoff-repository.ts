import type { Handle } from '../database/handle.ts'

export class HandoffRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

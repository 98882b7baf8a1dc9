import type { Handle } from '../database/handle.ts'

export class MetaRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

import type { Handle } from '../database/handle.ts'

export class ExportRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

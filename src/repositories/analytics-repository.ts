import type { Handle } from '../database/handle.ts'

export class AnalyticsRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }
}

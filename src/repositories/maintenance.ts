import type { StoreDatabase } from '../database/store-database.ts'

/** Upkeep of the whole file. */
export class Maintenance {
  readonly #database: StoreDatabase

  constructor(database: StoreDatabase) {
    this.#database = database
  }
}

import type { Command } from 'commander'

import {
  MigrationRequiredError,
  openStore,
  SCHEMA_VERSION,
  SchemaTooNewError,
  type OnProgress,
  type Store,
} from '../index.ts'
import { Output } from './output.ts'

export interface GlobalOptions {
  readonly db?: string
  readonly json?: true
  readonly debug?: true
}

/** What every command gets: the options that hold for all, the output, and the store. */
export class Cli {
  readonly out = new Output()
  readonly #program: Command

  constructor(program: Command) {
    this.#program = program
  }

  get json(): boolean {
    return this.#options.json ?? false
  }

  /** Opens the file for reading only: it stays as it is, and nobody's lock is waited for. */
  async read<T>(work: (store: Store) => Promise<T>): Promise<T> {
    await using store = await openStore({ ...this.#target, readonly: true })
    return await work(store)
  }

  /**
   * Reads what a changing command would do.
   * @throws {SchemaTooNewError} when it could not do it.
   */
  preview<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return this.read((store) => {
      const { schemaVersion } = store
      if (schemaVersion > SCHEMA_VERSION) {
        throw new SchemaTooNewError(schemaVersion, SCHEMA_VERSION)
      }
      return work(store)
    })
  }

  /**
   * Opens the file for writing, but neither makes a new one nor upgrades an old one on the way.
   * @throws {MigrationRequiredError}
   */
  async write<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const version = await this.read(async (store) => store.schemaVersion)
    if (version < SCHEMA_VERSION) throw new MigrationRequiredError(version)
    await using store = await openStore(this.#target)
    return await work(store)
  }

  /** Brings the file up to date; it must exist. */
  async migrate(onProgress: OnProgress): Promise<{ path: string; version: number }> {
    await this.read(async () => {}).catch((error: unknown) => {
      if (!(error instanceof MigrationRequiredError)) throw error
    })
    await using store = await openStore({ ...this.#target, onProgress })
    return { path: store.path, version: store.schemaVersion }
  }

  /** The file that was asked for, if one was. */
  get path(): string | undefined {
    return this.#options.db
  }

  get #target(): { path?: string } {
    const { db } = this.#options
    return db === undefined ? {} : { path: db }
  }

  get #options(): GlobalOptions {
    return this.#program.opts<GlobalOptions>()
  }
}

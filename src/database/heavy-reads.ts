import fs from 'node:fs'

import type { CompiledQuery } from 'kysely'

import type { Connection } from './connection.ts'
import type { Logger } from './logger.ts'
import { ReadPool } from './read-pool.ts'
import { readRows, type ReadTask } from './read-task.ts'

/**
 * In a file of this size even reading all of it takes a few milliseconds, less than starting a
 * worker; and a query that takes no time there should not pay for the way to another thread.
 */
const SMALL_FILE_BYTES = 4 * 1024 * 1024

/** Runs reads that can be slow where they do not stall the event loop. */
export class HeavyReads {
  readonly #path: string
  readonly #reader: () => Connection
  readonly #pool: ReadPool

  constructor(path: string, reader: () => Connection, logger: Logger) {
    this.#path = path
    this.#reader = reader
    this.#pool = new ReadPool({ path, logger, runHere: (task) => this.#runHere(task) })
  }

  /** Errors are the driver's own, whichever thread they come from. */
  async run({ sql, parameters }: CompiledQuery, signal?: AbortSignal): Promise<unknown[]> {
    const task = { sql, parameters }
    return this.#isSmall() ? this.#runHere(task) : this.#pool.run(task, signal)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #isSmall(): boolean {
    return bytesOf(this.#path) + bytesOf(`${this.#path}-wal`) < SMALL_FILE_BYTES
  }

  #runHere(task: ReadTask): unknown[] {
    return readRows(this.#reader(), task)
  }
}

/** 0 when there is no such file. */
export function bytesOf(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

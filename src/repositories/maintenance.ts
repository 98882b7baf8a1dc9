import type { BackupOptions } from '../database/backup.ts'
import type { FileProblem } from '../database/check-file.ts'
import type { StoreDatabase } from '../database/store-database.ts'
import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import { pyStrip } from '../schema/python-text.ts'
import { rebuildIndexes, type RebuildOptions } from './index-rebuild.ts'
import { assertSignal, flagOf, requireObject, requireText } from './input.ts'
import { pruneSessions, type DeleteOptions } from './session-removal.ts'

/** What `maintenance.autoPrune` deletes and how often (spec §15). */
export interface AutoPruneOptions extends DeleteOptions {
  /** 90 by default. */
  retentionDays?: number
  /** 24 by default: nothing is done when the last time was not that long ago. */
  minIntervalHours?: number
  /** Whether to give the space back, if anything was deleted; true by default. */
  vacuum?: boolean
}

/** What `maintenance.autoPrune` did. */
export interface AutoPruneResult {
  /** It was done less than the interval ago, here or by the agent. */
  skipped: boolean
  /** How many sessions were deleted. */
  pruned: number
  /** Whether the space was given back. */
  vacuumed: boolean
  /** What went wrong; whatever was deleted before stays deleted. */
  error?: Error
}

const LAST_AUTO_PRUNE = 'last_auto_prune'
const SECONDS_PER_HOUR = 3_600

/** How long `maintenance.check` goes on. */
export interface CheckOptions {
  /** Stops waiting at once, with the signal's reason. */
  signal?: AbortSignal
}

/** Upkeep of the whole file. */
export class Maintenance {
  readonly #database: StoreDatabase
  readonly #searchObjects: Readonly<Record<string, string>>

  /** `searchObjects` is the DDL of the full-text indexes and their triggers, by name. */
  constructor(database: StoreDatabase, searchObjects: Readonly<Record<string, string>>) {
    this.#database = database
    this.#searchObjects = searchObjects
  }

  /**
   * Reads the whole file and says what is wrong with it; empty when nothing is. Nobody has to wait
   * for it, but the WAL grows meanwhile: seconds on a big file.
   */
  async check(options: CheckOptions = {}): Promise<readonly FileProblem[]> {
    requireObject('options', options)
    assertSignal('signal', options.signal)
    return this.#database.check(options.signal)
  }

  /**
   * Copies the file as it is at one moment, while everybody goes on writing. The copy is owner-only
   * and appears at `path` when it is complete.
   * @throws {InvalidInputError} when something stands there and `overwrite` is not given.
   * @throws {CannotOpenError} when its folder cannot be written.
   */
  async backup(path: string, options: BackupOptions = {}): Promise<void> {
    const target = requireText('path', path)
    requireObject('options', options)
    const overwrite = flagOf('overwrite', options.overwrite, false)
    assertSignal('signal', options.signal)
    await this.#database.backup(target, { ...options, overwrite })
  }

  /**
   * Builds the full-text indexes anew in short steps, between which everybody else can write. Until
   * the last one search reads the messages that are not indexed, which is slower, and says so.
   */
  async rebuildIndexes(options: RebuildOptions = {}): Promise<void> {
    requireObject('options', options)
    assertSignal('signal', options.signal)
    if (options.onProgress !== undefined && typeof options.onProgress !== 'function') {
      throw new InvalidInputError('onProgress', 'must be a function')
    }
    await rebuildIndexes(this.#database, this.#searchObjects, options)
  }

  /**
   * Gives the space of what was deleted back to the file system. All writers wait meanwhile, ours and
   * the agent's, for seconds on a big file; reads and the event loop go on.
   * @throws {DatabaseBusyError} when another connection did not let go of its lock for 10 s.
   */
  async vacuum(): Promise<void> {
    await this.#database.vacuum()
  }

  /**
   * Deletes old sessions, at most once in the interval (spec §15). It is made for a start-up that must
   * not fail because of it: what goes wrong comes back as `error`.
   * @throws {InvalidInputError}
   */
  async autoPrune(options: AutoPruneOptions = {}): Promise<AutoPruneResult> {
    requireObject('options', options)
    const { retentionDays = 90, minIntervalHours = 24, vacuum, ...folder } = options
    const vacuums = flagOf('vacuum', vacuum, true)
    requireSpan('retentionDays', retentionDays)
    requireSpan('minIntervalHours', minIntervalHours)
    const result: AutoPruneResult = { skipped: false, pruned: 0, vacuumed: false }
    try {
      const now = nowSeconds()
      if (now - (await this.#lastTime()) < minIntervalHours * SECONDS_PER_HOUR) {
        return { ...result, skipped: true }
      }
      result.pruned = await pruneSessions(this.#database, {
        ...folder,
        olderThanDays: retentionDays,
      })
      await this.#setLastTime(now)
      if (vacuums && result.pruned > 0) {
        await this.vacuum()
        result.vacuumed = true
      }
      return result
    } catch (error) {
      if (error instanceof InvalidInputError || !(error instanceof Error)) throw error
      return { ...result, error }
    }
  }

  /** NaN when it was never done, or what is stored is no time. */
  async #lastTime(): Promise<number> {
    const row = await this.#database.read
      .selectFrom('state_meta')
      .select('value')
      .where('key', '=', LAST_AUTO_PRUNE)
      .executeTakeFirst()
    return pythonFloat(row?.value ?? '')
  }

  async #setLastTime(seconds: number): Promise<void> {
    // As Python prints it: the agent reads it, too.
    const value = Number.isInteger(seconds) ? seconds.toFixed(1) : String(seconds)
    await this.#database.write((trx) =>
      trx
        .insertInto('state_meta')
        .values({ key: LAST_AUTO_PRUNE, value })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
        .execute(),
    )
  }
}

/** What Python's `float(text)` gives, NaN for what it refuses. */
function pythonFloat(text: string): number {
  const number = pyStrip(text).replaceAll(/(?<=\d)_(?=\d)/g, '')
  const infinite = /^([+-]?)inf(?:inity)?$/i.exec(number)
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(number) ? Number(number) : NaN
}

function requireSpan(field: string, value: number): void {
  if (Number.isFinite(value) && value >= 0) return
  throw new InvalidInputError(field, 'must be a number from 0 up')
}

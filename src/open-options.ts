import { retryPolicy, type RetryOptions } from './database/busy-retry.ts'
import type { Synchronous } from './database/connection.ts'
import { resolveStatePath } from './database/files.ts'
import { findLockHolder } from './database/lock-holder.ts'
import { harmless, harmlessly, silentLogger, type Logger } from './database/logger.ts'
import { InvalidInputError } from './errors.ts'
import type { OnProgress } from './migrations/runner.ts'

/** How `openStore` opens a file; an option of another name is refused. */
export interface OpenStoreOptions {
  /** The file; `$HERMES_HOME/state.db` or `~/.hermes/state.db` when absent (spec §1). */
  path?: string
  /** Opens without changing anything; the file must exist and be at version 11 or newer. */
  readonly?: boolean
  /** `FULL`, the default and the agent's: a commit survives a power cut. `NORMAL`: a crash only. */
  synchronous?: Synchronous
  /** How long to wait for other connections' locks. */
  retry?: RetryOptions
  /** Told what the migration runner does, if there is anything to do. */
  onProgress?: OnProgress
  /** Told of faults and long locks; silent by default. What it throws becomes a process warning. */
  logger?: Logger
  /** Statements that take longer are kept, with their SQL, in `stats().slowQueries`; 100 by default. */
  slowQueryMs?: number
}

/** The options with their defaults in place. */
export type OpenSettings = ReturnType<typeof openSettings>

const KNOWN: Readonly<Record<keyof OpenStoreOptions, true>> = {
  path: true,
  readonly: true,
  synchronous: true,
  retry: true,
  onProgress: true,
  logger: true,
  slowQueryMs: true,
}

/** @throws {InvalidInputError} for an option that is wrong or unknown. */
export function openSettings(options: OpenStoreOptions) {
  assertOptions(options)
  const { readonly = false, synchronous = 'FULL', slowQueryMs = 100 } = options
  const { logger = silentLogger, onProgress = () => {} } = options
  if (typeof readonly !== 'boolean') throw new InvalidInputError('readonly', 'must be a boolean')
  if (synchronous !== 'FULL' && synchronous !== 'NORMAL') {
    throw new InvalidInputError('synchronous', `must be 'FULL' or 'NORMAL'`)
  }
  if (!Number.isFinite(slowQueryMs) || slowQueryMs < 0) {
    throw new InvalidInputError('slowQueryMs', 'must be a number of milliseconds from 0 up')
  }
  if (typeof onProgress !== 'function') {
    throw new InvalidInputError('onProgress', 'must be a function')
  }
  if (!isLogger(logger)) {
    throw new InvalidInputError('logger', 'must have the methods debug, info, warn and error')
  }
  const path = resolveStatePath(options.path)
  const retry = retryPolicy(options.retry, () => findLockHolder(path))
  return {
    path,
    readonly,
    synchronous,
    retry,
    onProgress: harmlessly('onProgress', onProgress),
    logger: harmless(logger),
    slowQueryMs,
  } as const
}

/**
 * A slip here would be a costly one: `openStore('my.db')` would open and upgrade Hermes' own file, and
 * `{ readOnly: true }` would write.
 */
function assertOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidInputError('options', 'must be an object, such as { path: "state.db" }')
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(KNOWN, name))
  if (unknown !== undefined) throw new InvalidInputError(unknown, 'is no option of openStore')
}

function isLogger(logger: unknown): logger is Logger {
  return ['debug', 'info', 'warn', 'error'].every(
    (level) => typeof (logger as Record<string, unknown> | null)?.[level] === 'function',
  )
}

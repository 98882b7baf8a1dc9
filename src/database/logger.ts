/** The part of pino's logger that the store calls; any logger of that shape will do. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

/**
 * The caller's logger, kept from doing harm: what it throws becomes a process warning. The write queue
 * logs between a COMMIT and its answer, where a throw would leave every later write waiting.
 */
export function harmless(logger: Logger): Logger {
  const guarded = (level: keyof Logger): Logger['info'] =>
    harmlessly('the logger', (fields: object, message: string) => logger[level](fields, message))
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
  }
}

/** The same for a single function; `name` is what the warning calls it. */
export function harmlessly<A extends unknown[]>(
  name: string,
  call: (...args: A) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      call(...args)
    } catch (error) {
      process.emitWarning(`${name} of hermes-session-store failed: ${String(error)}`)
    }
  }
}

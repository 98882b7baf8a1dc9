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
  const guarded =
    (level: keyof Logger) =>
    (fields: object, message: string): void => {
      try {
        logger[level](fields, message)
      } catch (error) {
        process.emitWarning(`the logger of hermes-session-store failed: ${String(error)}`)
      }
    }
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
  }
}

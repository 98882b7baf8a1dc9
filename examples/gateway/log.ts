// What a closed standard error cannot take is lost; bots go on.
process.stderr.on('error', () => {})

/** What ends a line, or steers the terminal of whoever reads the log. */
const CONTROLS = /[\0-\x1f\x7f-\x9f]+/g

/**
 * What the operator should know goes to standard error, a line each; standard output belongs to the
 * terminal chat.
 */
export function log(channel: string, message: string, error?: unknown): void {
  const cause = error === undefined ? '' : `: ${describe(error)}`
  process.stderr.write(`[${channel}] ${`${message}${cause}`.replaceAll(CONTROLS, ' ')}\n`)
}

/** The error's message with those of its causes that it does not repeat. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : describe(error.cause)
  return error.message.includes(cause) ? error.message : `${error.message} (${cause})`
}

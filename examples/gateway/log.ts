/** What the operator should know goes to standard error; standard output belongs to the terminal chat. */
export function log(channel: string, message: string, error?: unknown): void {
  const cause = error === undefined ? '' : `: ${describe(error)}`
  process.stderr.write(`[${channel}] ${message}${cause}\n`)
}

/** The error's message with those of its causes. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : ` (${describe(error.cause)})`
  return `${error.message}${cause}`
}

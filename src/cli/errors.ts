/** The command line makes no sense; the message says what to type instead. Exit code 2. */
export class UsageError extends Error {}

/** The command could not do what was asked. Exit code 1. */
export class CommandError extends Error {}

/** Nobody reads the output any more. */
export class OutputClosedError extends Error {}

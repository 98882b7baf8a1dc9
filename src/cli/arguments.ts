import { statSync } from 'node:fs'

import { InvalidArgumentError } from 'commander'

/** A whole number from 0 up. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number from 0 up.')
  }
  return value
}

/** A whole number from 0 up, or `all`, which the store knows as -1. */
export function limit(text: string): number {
  return text === 'all' ? -1 : wholeNumber(text)
}

/** An empty one, as of a variable that is not set, would be taken for none: `prune` would go through everything. */
export function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

/** Gathers an option that may be given more than once. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, notEmpty(text)]
}

/** A folder that exists: what is deleted from the database cannot be looked for in another one later. */
export function folder(text: string): string {
  if (!statSync(text, { throwIfNoEntry: false })?.isDirectory()) {
    throw new InvalidArgumentError('It must be a folder.')
  }
  return text
}

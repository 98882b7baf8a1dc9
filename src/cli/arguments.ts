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

/** Gathers an option that may be given more than once. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

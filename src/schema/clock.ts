/** Seconds since the epoch with a fraction, as every time in the file is stored (spec §6). */
export function nowSeconds(): number {
  return Date.now() / 1000
}

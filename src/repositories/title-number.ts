const NUMBERED = / #(\p{Nd}+)\n?$/u
const DIGIT = /^\p{Nd}$/u

/** The title without its ` #<number>`, once; a line break after it is taken for its end (spec §8). */
export function withoutNumber(title: string): string {
  return title.replace(NUMBERED, '')
}

/** The number a title ends with, of any size and in any script's digits (spec §8). */
export function numberOf(title: string): bigint | undefined {
  const digits = NUMBERED.exec(title)?.[1]
  return digits === undefined ? undefined : BigInt(Array.from(digits, digitValue).join(''))
}

/** Unicode has every script's digits in a row from 0 to 9, some rows one after the other. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  let first = code
  while (DIGIT.test(String.fromCodePoint(first - 1))) first -= 1
  return (code - first) % 10
}

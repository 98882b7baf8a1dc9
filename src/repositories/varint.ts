/** SQLite's variable-length integers: seven bits a byte, the highest first, all but the last marked. */
export function fromVarint(bytes: Uint8Array): number {
  let value = 0
  for (const byte of bytes) value = value * 128 + (byte & 0x7f)
  return value
}

export function toVarint(value: number): Uint8Array {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest % 128) | 0x80)
  }
  return Uint8Array.from(bytes)
}

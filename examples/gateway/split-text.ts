/** Cuts a long text into parts of at most `limit` UTF-16 units, at a line or word break where there is one. */
export function splitText(text: string, limit: number): string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > limit) {
    const cut = cutOf(rest, limit)
    parts.push(rest.slice(0, cut))
    rest = rest.slice(cut)
  }
  parts.push(rest)
  // A platform refuses a message that is only blanks.
  return parts.filter((part) => part.trim() !== '')
}

function cutOf(text: string, limit: number): number {
  for (const separator of ['\n', ' ']) {
    const at = text.lastIndexOf(separator, limit - 1)
    if (at >= limit / 2) return at + 1
  }
  // Never between the halves of a surrogate pair: both would become U+FFFD.
  return /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit
}

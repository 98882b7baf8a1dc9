/** What a word is made of, as the agent's word index sees it. */
const WORDS = /[\p{L}\p{N}\p{Co}]+/gu
const WORD = /[\p{L}\p{N}\p{Co}]/u
const IN_WORD = /[\p{L}\p{N}\p{M}]/u

/** Scripts written without blanks, in which a word stands anywhere. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]/u

export function hasUnspaced(text: string): boolean {
  return UNSPACED.test(text)
}

/** The words of a folded text as the agent's word index cuts them. */
export function wordsOf(folded: string): string[] {
  return folded.match(WORDS) ?? []
}

/** Whether the unit belongs to a character that words are made of. */
export function isWordUnit(text: string, place: number): boolean {
  return isOf(wordClass, text, place)
}

/** The same for words of scripts with blanks, marks included: between two of them no word ends. */
export function isInner(text: string, place: number): boolean {
  return isOf(innerClass, text, place)
}

interface CharacterClass {
  readonly known: Map<number, boolean>
  readonly test: (character: string) => boolean
}

const wordClass: CharacterClass = { known: new Map(), test: (character) => WORD.test(character) }
const innerClass: CharacterClass = {
  known: new Map(),
  test: (character) => IN_WORD.test(character) && !UNSPACED.test(character),
}

function isOf({ known, test }: CharacterClass, text: string, place: number): boolean {
  const unit = text.charCodeAt(place)
  // The second half of a pair is judged by the whole.
  const isSecond = unit >= 0xdc_00 && unit <= 0xdf_ff && place > 0
  const point = text.codePointAt(isSecond ? place - 1 : place) ?? 0
  let answer = known.get(point)
  if (answer === undefined) {
    answer = test(String.fromCodePoint(point))
    known.set(point, answer)
  }
  return answer
}

/** Accents of Latin, Greek and Cyrillic letters, and the vowel signs of Arabic. */
const ACCENTS = /[\u0300-\u036f\u064b-\u065f\u0670]/g
const NOT_ASCII = /[^\0-\x7f]/
const SIGN = /(?!\p{ASCII})\p{S}/gu
const LETTER = /\p{L}/u

/** Stands between the two forms of a text, where no phrase can go across it. */
const DIVIDER = ' \ue000 '

/**
 * The text in the form in which terms are compared: without case, accents and the difference between
 * full- and half-width or otherwise compatible forms.
 */
export function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase()
  return text
    .replace(SIGN, spelledOut)
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFC')
}

/**
 * `100㎡` has the word 100 and `Windows™` the word Windows, as the word index sees it; signs for single
 * letters, as in `Ⓗⓔⓛⓛⓞ`, make words.
 */
function spelledOut(sign: string): string {
  const letters = sign.normalize('NFKD')
  const isWord = letters.length > 1 && LETTER.test(letters) && !hasUnspaced(letters)
  return isWord ? ` ${letters} ` : sign
}

/**
 * A letter and its marks fold together, those of katakana in half width as well; so do the parts of a
 * Korean syllable.
 */
const CLUSTER = new RegExp(
  [
    String.raw`[\u1100-\u115f\u3131-\u314e\uffa1-\uffbe][\u1160-\u11a7\u314f-\u3163\uffc2-\uffdc][\u11a8-\u11ff]?`,
    String.raw`[\uac00-\ud7a3][\u11a8-\u11ff]`,
    String.raw`\P{M}[\p{M}\uff9e\uff9f]*`,
    String.raw`\p{M}+`,
  ].join('|'),
  'gu',
)

export interface FoldedText {
  readonly folded: string
  /** For each unit of it where in the text that begins, and where that ends, for which it stands. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

export function foldWithPlaces(text: string): FoldedText {
  let folded = ''
  const starts: number[] = []
  const ends: number[] = []
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const part = fold(cluster)
    for (let unit = 0; unit < part.length; unit += 1) {
      starts.push(index)
      ends.push(index + cluster.length)
    }
    folded += part
  }
  return { folded, starts, ends }
}

const ESCAPE = /\\+(?:u([0-9a-fA-F]{4})|[nrt])/g

/** The text with JSON's escapes undone, however deep they are nested; undefined when there are none. */
export function unescaped(text: string): string | undefined {
  if (!text.includes('\\')) return undefined
  const plain = text.replace(ESCAPE, (_, hex: string | undefined) =>
    hex === undefined ? ' ' : String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return plain === text ? undefined : plain
}

/** Everything a term is looked for in, folded: the text as it is stored and without its escapes. */
export function haystackOf(text: string): string {
  const plain = unescaped(text)
  return plain === undefined ? fold(text) : fold(text) + DIVIDER + fold(plain)
}

import { sql, type RawBuilder } from 'kysely'

import type { SearchExpression, SearchTerm } from '../schema/search-expression.ts'
import { fold, wordsOf } from '../schema/search-text.ts'
import { quoted } from './search-match.ts'
import {
  ALL_IDS,
  endOfIndexedText,
  type IdRange,
  type SearchIndexName,
} from './search-statements.ts'

type Range = readonly [from: string, to: string]

/** Where to look: messages that one of the indexes finds by any of these. */
export interface Candidates {
  /** Queries of the word index, each for one term. */
  readonly words: readonly string[]
  readonly trigrams: readonly string[]
  /** Ranges of trigrams, for what is shorter than one. */
  readonly ranges: readonly Range[]
  /** Of these characters, which end an indexed text without a trigram that begins with them. */
  readonly singles: readonly string[]
  /** How texts end in which one of the single characters may be like that. */
  readonly ends: readonly string[]
  /** No index tells, so it has to be all messages. */
  readonly isEverywhere: boolean
}

/** Katakana in half width, in which a voicing mark is a character of its own. */
const HALF_WIDTH = new Map(
  Array.from({ length: 0xff_9e - 0xff_61 }, (_, index) => String.fromCharCode(0xff_61 + index))
    .flatMap((half) => [half, `${half}ﾞ`, `${half}ﾟ`])
    .map((half) => [half.normalize('NFKC'), half] as const)
    .filter(([full]) => full.length === 1),
)

/** More are not worth the look-ups. */
const MOST_SETS = 8
/** Above every character that a trigram can go on with. */
const LAST = '\u{10ffff}'
const SINGLE = /^.$/su

/**
 * Sets of which every message that fits is in each: to be read, because not everything in them fits.
 */
export function candidatesOf(expression: SearchExpression): readonly Candidates[] {
  switch (expression.kind) {
    case 'term':
      return [candidatesOfTerm(expression)]
    case 'not':
      return candidatesOf(expression.wanted)
    case 'or':
      return [united(expression.parts.map((part) => longest(candidatesOf(part))))]
    case 'near':
      return expression.terms.slice(0, MOST_SETS).map(candidatesOfTerm)
    default:
      return expression.parts.flatMap(candidatesOf).slice(0, MOST_SETS)
  }
}

/** What the agent finds by LIKE: any of the texts, anywhere. */
export function candidatesByText(texts: readonly string[]): Candidates {
  const [long, short] = partition(texts, hasTrigram)
  return {
    words: [],
    trigrams: long.map((text) => quoted(text)),
    ranges: short.flatMap(wholeRanges),
    singles: short.filter((text) => SINGLE.test(text)),
    ends: [],
    isEverywhere: short.some(endsArguments),
  }
}

/** The same with what the index lacks, for which it takes to know how the texts in the file end. */
export function withEnds(candidates: Candidates, known: readonly string[]): Candidates {
  const singles = candidates.singles.map(fold)
  const ends = known.filter((end) => singles.some((single) => fold(end).includes(single)))
  return { ...candidates, ends }
}

/** The ids as a query for `in`. */
export function selectCandidates(candidates: Candidates, ids: IdRange): RawBuilder<unknown> {
  // An older SQLite ends a text at its first NUL when it cuts trigrams: structured content begins
  // with one, so of such messages its trigram index has nothing.
  const cut = sql`select structured.rowid from messages_fts as structured
    cross join messages_fts_trigram_docsize as cut
    where structured.messages_fts match '^json' and cut.id = structured.rowid
      and cut.sz = x'00'`
  return sql.join([...selectsOf(candidates, ids), cut], sql` union `)
}

/** How many ids there are, at most `most`; counted twice where two of the indexes have them. */
export function countCandidates(candidates: Candidates, most: number): RawBuilder<number> {
  if (candidates.isEverywhere) return sql.lit(most)
  const selects = sql.join(selectsOf(candidates, ALL_IDS), sql` union all `)
  return sql<number>`(select count(*) from (${selects} limit ${sql.lit(most)}))`
}

function selectsOf(
  { words, trigrams, ranges, ends }: Candidates,
  ids: IdRange,
): RawBuilder<unknown>[] {
  const selects: RawBuilder<unknown>[] = []
  if (words.length > 0) selects.push(selectMatching('messages_fts', words.join(' OR '), ids))
  if (trigrams.length > 0) {
    selects.push(selectMatching('messages_fts_trigram', trigrams.join(' OR '), ids))
  }
  if (ends.length > 0) {
    selects.push(
      sql`select m.id from messages as m
        where ${endOfIndexedText} in (select value from json_each(${JSON.stringify(ends)}))
          and m.id >= cast(${ids.low} as integer) and m.id <= cast(${ids.high} as integer)`,
    )
  }
  if (ranges.length === 0) return selects
  selects.push(
    sql`select gram.doc from json_each(${JSON.stringify(ranges)}) as wanted
      cross join temp.store_grams as gram
      where gram.term >= wanted.value ->> 0 and gram.term < wanted.value ->> 1
        and gram.doc >= cast(${ids.low} as integer) and gram.doc <= cast(${ids.high} as integer)`,
  )
  return selects
}

/** The ids of the messages that an index finds. */
export function selectMatching(
  index: SearchIndexName,
  match: string,
  { low, high }: IdRange,
): RawBuilder<unknown> {
  const table = sql.table(index)
  return sql`select rowid from ${table} where ${table} match ${match}
    and rowid >= cast(${low} as integer) and rowid <= cast(${high} as integer)`
}

function candidatesOfTerm({ text, isPrefix }: SearchTerm): Candidates {
  const variants = variantsOf(text.trim())
  const [long, short] = partition(variants, hasTrigram)
  const asWords = variants.filter((variant) => wordsOf(fold(variant)).length > 0)
  return {
    words: [...asWords.map((variant) => quoted(variant, isPrefix)), ...escapedForms(text)],
    trigrams: long.map((variant) => quoted(variant)),
    ranges: short.flatMap((variant) => rangesOf(variant, isPrefix)),
    singles: short.filter((variant) => SINGLE.test(variant)),
    ends: [],
    isEverywhere: short.some(endsArguments),
  }
}

/** As it is typed and in the forms that `fold` takes for the same, as far as texts are written so. */
function variantsOf(text: string): string[] {
  const plain = text.normalize('NFKC')
  const wide = plain.replaceAll(/[!-~]/g, (unit) =>
    String.fromCharCode(unit.charCodeAt(0) - 0x20 + 0xff_00),
  )
  const half = Array.from(plain, (character) => HALF_WIDTH.get(character) ?? character).join('')
  return [...new Set([text, text.normalize('NFC'), text.normalize('NFD'), plain, wide, half])]
}

/** A short Latin word is found as a word; here it is about those glued to characters without blanks. */
function rangesOf(short: string, isPrefix: boolean): Range[] {
  if (isPrefix || !/^[a-z0-9]+$/i.test(short)) return wholeRanges(short)
  const text = short.toLowerCase()
  return [
    [text, `${text}0`],
    [`${text}:`, `${text}a`],
    [`${text}{`, `${text}\u00b5`],
    [`${text}\u0e00`, text + LAST],
  ]
}

/**
 * A trigram is found by how it begins, and behind content and tool name the agent indexes a blank. What
 * ends the arguments of a tool ends the text, so at the very end no trigram begins with it.
 */
function endsArguments(short: string): boolean {
  return !SINGLE.test(short) && /[\]}"]$/.test(short)
}

/** Whatever it is that the tokenizer folds the text to: most letters to the small one, a final sigma to sigma. */
function wholeRanges(text: string): Range[] {
  const forms = new Set([
    text,
    lower(text),
    lower(each(text, (character) => character.toUpperCase())),
  ])
  return Array.from(forms, (form) => [form, form + LAST])
}

/** As JSON of the agent stores what is not ASCII. Case cannot be folded there, so the usual are tried. */
function escapedForms(text: string): string[] {
  const start = text.search(/[^\0-\x7f]/)
  if (start === -1) return []
  const rest = text.slice(start)
  const [first = ''] = rest
  const title = first.toUpperCase() + rest.slice(first.length).toLowerCase()
  const cases = new Set([rest, rest.toLowerCase(), rest.toUpperCase(), title])
  return Array.from(cases, (form) => quoted(escaped(form.toWellFormed()), true))
}

function escaped(text: string): string {
  return text.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function lower(text: string): string {
  return each(text, (character) => character.toLowerCase())
}

/** One character by another, as the tokenizer does it, so that none becomes two. */
function each(text: string, change: (character: string) => string): string {
  return Array.from(text, (character) => {
    const other = change(character)
    return Array.from(other).length === 1 ? other : character
  }).join('')
}

function hasTrigram(text: string): boolean {
  return /^.{3}/su.test(text)
}

function longest(all: readonly Candidates[]): Candidates {
  const [first] = all
  if (!first) throw new Error('nothing to look for')
  return all.reduce((best, other) => (lengthOf(other) > lengthOf(best) ? other : best), first)
}

/** The longer what is looked for, the fewer have it. */
function lengthOf({ words, trigrams }: Candidates): number {
  return Math.max(0, ...[...words.slice(0, 1), ...trigrams.slice(0, 1)].map((text) => text.length))
}

function united(all: readonly Candidates[]): Candidates {
  return {
    words: [...new Set(all.flatMap(({ words }) => words))],
    trigrams: [...new Set(all.flatMap(({ trigrams }) => trigrams))],
    ranges: all.flatMap(({ ranges }) => ranges),
    singles: all.flatMap(({ singles }) => singles),
    ends: [],
    isEverywhere: all.some(({ isEverywhere }) => isEverywhere),
  }
}

function partition<T>(all: readonly T[], test: (item: T) => boolean): [yes: T[], no: T[]] {
  return [all.filter(test), all.filter((item) => !test(item))]
}

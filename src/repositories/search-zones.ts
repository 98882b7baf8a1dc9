import { sql } from 'kysely'

import type { Handle } from '../database/handle.ts'
import { prepare, type QueryOptions } from '../database/prepared-query.ts'
import { endOfIndexedText, type IdRange } from './search-statements.ts'

/** Ids of one zone; times within it are kept as their lowest and highest. */
const ZONE = 4096

interface Zone {
  readonly zone: number
  readonly first: number
  readonly last: number
  /** How its texts end, as JSON. */
  readonly ends: string
}

/**
 * In which ids to look for a time. Later ids mostly have later times, and this tells how far that
 * holds. It may lag behind deletions, which only makes the ranges wider, and is extended by what came
 * since; nobody changes the time of a message.
 */
export class SearchZones {
  readonly #handle: Handle
  #zones: Zone[] = []

  constructor(handle: Handle) {
    this.#handle = handle
  }

  /** Whether the file is so big that zones are worth their while. */
  async isBigFile(): Promise<boolean> {
    const row = await highestId.first(this.#handle.read, {})
    return (row?.highest ?? 0) >= 4 * ZONE
  }

  /** All zones, brought up to date; the first time all times are read, a quarter of a second a million. */
  async current(options?: QueryOptions): Promise<ZoneMap> {
    const from = this.#zones.at(-1)?.zone ?? 0
    const rows = await zonesFrom.all(this.#handle.heavy, { from: from * ZONE }, options)
    this.#zones = [...this.#zones.filter(({ zone }) => zone < from), ...rows]
    return new ZoneMap(this.#zones)
  }
}

const highestId = prepare<object>()((db) =>
  db.selectFrom('messages').select((eb) => eb.fn.max('id').as('highest')),
)

const zonesFrom = prepare<{ from: number }>()((db, p) =>
  db
    .selectFrom('messages as m')
    .select((eb) => [
      sql<number>`id / ${sql.lit(ZONE)}`.as('zone'),
      eb.fn.min('timestamp').as('first'),
      eb.fn.max('timestamp').as('last'),
      sql<string>`json_group_array(distinct ${endOfIndexedText})`.as('ends'),
    ])
    .where(sql<boolean>`id >= cast(${p.from} as integer)`)
    .groupBy('zone')
    .orderBy('zone'),
)

export class ZoneMap {
  readonly #zones: readonly Zone[]

  constructor(zones: readonly Zone[]) {
    this.#zones = zones
  }

  /** The last two characters of every text, each pair once. */
  get ends(): string[] {
    return [...new Set(this.#zones.flatMap(({ ends }) => JSON.parse(ends) as string[]))]
  }

  /** The ids among which all messages of a time are; those to come are after the last. */
  idsBetween(since: number | null, until: number | null): IdRange {
    const inside = this.#zones.filter(
      ({ first, last }) => (since === null || last >= since) && (until === null || first <= until),
    )
    const low = (inside[0]?.zone ?? 0) * ZONE
    const end = inside.at(-1)?.zone
    const isLast = end === undefined || end === this.#zones.at(-1)?.zone
    return { low, high: isLast ? Number.MAX_SAFE_INTEGER : (end + 1) * ZONE - 1 }
  }

  /** Ever more of the newest or oldest ids of a range. */
  *windows(order: 'newest' | 'oldest', { low, high }: IdRange): Generator<IdRange> {
    const first = Math.max(this.#zones[0]?.zone ?? 0, Math.floor(low / ZONE))
    const last = Math.min(this.#zones.at(-1)?.zone ?? 0, Math.floor(high / ZONE))
    for (let zones = 2; zones < last - first; zones *= 8) {
      yield order === 'newest'
        ? { low: Math.max(low, (last - zones + 1) * ZONE), high }
        : { low, high: Math.min(high, (first + zones) * ZONE - 1) }
    }
  }

  /** Whether in the range no message outside of the window comes before this time in the order. */
  isBehind(window: IdRange, range: IdRange, time: number, order: 'newest' | 'oldest'): boolean {
    return this.#zones.every(({ zone, first, last }) => {
      const id = zone * ZONE
      const isApart = id + ZONE <= range.low || id > range.high
      const isInside = id >= window.low && id + ZONE - 1 <= window.high
      return isApart || isInside || (order === 'newest' ? last < time : first > time)
    })
  }
}

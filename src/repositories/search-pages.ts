import { sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely'

import type { QueryOptions } from '../database/prepared-query.ts'
import type { Database } from '../schema/database.ts'
import { countCandidates, selectMatching, withEnds, type Candidates } from './search-candidates.ts'
import type { SearchKey } from './search-cursor.ts'
import { isAmong, type IndexPass, type ReadPass, type SearchPass } from './search-plan.ts'
import type { SearchOrder, SearchRequest, SearchScope } from './search-request.ts'
import { ALL_IDS, evaluate, findByFilters, findByIndex } from './search-statements.ts'
import type { FoundRow, IdRange, PageScope } from './search-statements.ts'
import type { SearchZones, ZoneMap } from './search-zones.ts'

export interface PageOfPass {
  readonly limit: number
  readonly offset: number
  readonly after: Pick<SearchKey, 'value' | 'id'> | undefined
  /** What was found by these is left out. */
  readonly before: readonly SearchPass[]
  /** As the agent orders: what it finds by LIKE by time, equal times by rank. */
  readonly isAgents: boolean
}

type Read = (ids: IdRange, scope: SearchScope, isFirst: boolean) => Promise<FoundRow[]>

/** With no more candidates than this, all are read at once. */
const FEW = 1000

/** Gets pages of single passes with as little reading as the size of the file allows. */
export class SearchPages {
  readonly #db: Kysely<Database>
  readonly #request: SearchRequest
  readonly #zones: SearchZones
  readonly #options: QueryOptions | undefined
  #isBig: Promise<boolean> | undefined

  constructor(db: Kysely<Database>, request: SearchRequest, zones: SearchZones) {
    this.#db = db
    this.#request = request
    this.#zones = zones
    this.#options = request.signal && { signal: request.signal }
  }

  of(pass: SearchPass, page: PageOfPass): Promise<FoundRow[]> {
    return pass.kind === 'index' ? this.#byIndex(pass, page) : this.#byReading(pass, page)
  }

  async #byIndex(pass: IndexPass, page: PageOfPass): Promise<FoundRow[]> {
    const { index, match } = pass
    const { order, scope } = this.#request
    const read: Read = (ids, part) => {
      const filters = [...pass.filters, ...leftOut(page, ids)]
      return findByIndex(
        this.#db,
        index,
        match,
        this.#within(page, order, ids, part),
        filters,
        this.#options,
      )
    }
    const isByTime = order !== 'relevance'
    const isBounded = isByTime || scope.since !== null || scope.until !== null
    const few = sql<number>`
      (select count(*) from (${selectMatching(index, match, ALL_IDS)} limit ${sql.lit(FEW + 1)}))`
    const zones = isBounded && (await this.#zonesUnless([few])) ? await this.#map() : undefined
    if (isByTime) return this.#byTime(order, page, zones, read)
    return read(zones ? this.#idsInScope(zones) : ALL_IDS, this.#scopeOf(page), false)
  }

  async #byReading(pass: ReadPass, page: PageOfPass): Promise<FoundRow[]> {
    const asked = this.#request.order
    const order = asked === 'relevance' || (pass.isAgents && page.isAgents) ? 'newest' : asked
    const { sets, isRare } = await this.#narrowed(await this.#withEnds(pass.sets))
    const zones = isRare ? undefined : await this.#map()
    // The places of short terms cannot be had for a part of the ids; what is common among them is soon
    // found by reading that part without an index.
    const areShort = sets.some(({ ranges }) => ranges.length > 0)
    return this.#byTime(order, page, zones, (ids, part, isFirst) => {
      const among = isFirst && areShort ? [] : sets.map((set) => isAmong(set, pass, ids))
      const filters = [...among, pass.found(ids), ...leftOut(page, ids)]
      const scope = this.#within(page, order, ids, part)
      return findByFilters(this.#db, scope, filters, pass, this.#options)
    })
  }

  async #withEnds(sets: readonly Candidates[]): Promise<readonly Candidates[]> {
    if (sets.every(({ singles }) => singles.length === 0)) return sets
    const { ends } = await this.#map()
    return sets.map((set) => withEnds(set, ends))
  }

  /** Of several sets the smallest alone, where that is small. */
  async #narrowed(
    sets: readonly Candidates[],
  ): Promise<{ sets: readonly Candidates[]; isRare: boolean }> {
    if (!(await this.#isBigFile())) return { sets, isRare: true }
    if (sets.length === 0) return { sets, isRare: false }
    const counts = await this.#count(sets.map((set) => countCandidates(set, FEW + 1)))
    const least = Math.min(...counts)
    const smallest = sets[counts.indexOf(least)]
    return least <= FEW && smallest ? { sets: [smallest], isRare: true } : { sets, isRare: false }
  }

  async #zonesUnless(counts: readonly RawBuilder<number>[]): Promise<boolean> {
    if (!(await this.#isBigFile())) return false
    return (await this.#count(counts)).some((count) => count > FEW)
  }

  #count(counts: readonly RawBuilder<number>[]): Promise<number[]> {
    return evaluate(this.#db, counts, this.#options)
  }

  #isBigFile(): Promise<boolean> {
    return (this.#isBig ??= this.#zones.isBigFile())
  }

  #map(): Promise<ZoneMap> {
    return this.#zones.current(this.#options)
  }

  /** Of a big file the newest (or oldest) part is looked at first, as long as nothing can precede it. */
  async #byTime(
    order: 'newest' | 'oldest',
    page: PageOfPass,
    zones: ZoneMap | undefined,
    read: Read,
  ): Promise<FoundRow[]> {
    const scope = this.#scopeOf(page)
    if (!zones) return read(ALL_IDS, scope, false)
    const all = this.#idsInScope(zones, order, page.after?.value)
    if (page.limit === -1) return read(all, scope, false)
    const wanted = page.limit + page.offset
    let isFirst = true
    for (const ids of zones.windows(order, all)) {
      const rows = await read(ids, { ...scope, limit: wanted, offset: 0 }, isFirst)
      isFirst = false
      const last = rows.at(-1)
      if (last && rows.length === wanted && zones.isBehind(ids, all, last.timestamp, order)) {
        return rows.slice(page.offset)
      }
    }
    return read(all, scope, false)
  }

  #within(
    { after, isAgents }: PageOfPass,
    order: SearchOrder,
    ids: IdRange,
    scope: SearchScope,
  ): PageScope {
    const { isScored } = this.#request
    return { scope, ids, order, hasAgentTies: isAgents, isScored, after }
  }

  #scopeOf({ limit, offset }: PageOfPass): SearchScope {
    return { ...this.#request.scope, limit, offset }
  }

  #idsInScope(zones: ZoneMap, order?: 'newest' | 'oldest', from?: number): IdRange {
    const { since, until } = this.#request.scope
    const first = order === 'oldest' && from !== undefined ? Math.max(from, since ?? from) : since
    const last = order === 'newest' && from !== undefined ? Math.min(from, until ?? from) : until
    return first === null && last === null ? ALL_IDS : zones.idsBetween(first, last)
  }
}

function leftOut({ before }: PageOfPass, ids: IdRange): Expression<SqlBool>[] {
  return before.map((pass) => sql<SqlBool>`(${pass.found(ids)}) is not true`)
}

import { DatabaseError } from '../errors.ts'
import type { SearchKey } from './search-cursor.ts'
import type { PageOfPass, SearchPages } from './search-pages.ts'
import type { SearchPass } from './search-plan.ts'
import type { SearchRequest } from './search-request.ts'
import type { FoundRow } from './search-statements.ts'

/** A message that was found, and what tells a cursor where it was. */
export interface FoundBy {
  readonly row: FoundRow
  readonly key: SearchKey
}

/** What each pass finds beyond those before, one after the other: the agent's answer comes first. */
export async function runInTurn(
  pages: SearchPages,
  passes: readonly SearchPass[],
  { after, scope }: SearchRequest,
): Promise<FoundBy[]> {
  const found: FoundBy[] = []
  const answered = [...(after?.answered ?? [])]
  let { limit, offset } = scope
  let isAny = false
  for (const [index, pass] of passes.entries()) {
    if (limit === 0) break
    if (index < (after?.pass ?? 0) || isNeedless(pass, answered, isAny)) continue
    const before = answered.flatMap((done) => (done < index ? (passes[done] ?? []) : []))
    const page = { limit, offset, before, after: undefined, isAgents: true }
    const rows = await answer(pages, pass, after?.pass === index ? { ...page, after } : page)
    if (!rows) continue
    if (!answered.includes(index)) answered.push(index)
    isAny ||= rows.length > 0
    found.push(...rows.map((row) => ({ row, key: keyOf(row, pass, index, [...answered]) })))
    if (limit !== -1) limit -= rows.length
    if (rows.length > 0) offset = 0
    else if (offset > 0) {
      // The page begins behind the last hit of this pass.
      const skipped = await answer(pages, pass, { ...page, limit: offset, offset: 0 })
      offset -= skipped?.length ?? 0
      isAny ||= skipped?.length !== 0
    }
  }
  return found
}

/** What all passes find, by time. */
export async function runTogether(
  pages: SearchPages,
  passes: readonly SearchPass[],
  { after, order, scope: { limit } }: SearchRequest,
): Promise<FoundBy[]> {
  const found = new Map<number, FoundBy>()
  const answered: number[] = []
  for (const [index, pass] of passes.entries()) {
    if (isNeedless(pass, answered, found.size > 0)) continue
    const page = { limit, offset: 0, before: [], after, isAgents: false }
    const rows = await answer(pages, pass, page)
    if (!rows) continue
    answered.push(index)
    for (const row of rows) {
      const key = { pass: 0, answered: [], value: row.timestamp, id: row.id }
      if (!found.has(row.id)) found.set(row.id, { row, key })
    }
  }
  const sign = order === 'oldest' ? 1 : -1
  const sorted = [...found.values()].toSorted(
    ({ row: a }, { row: b }) => sign * (a.timestamp - b.timestamp || a.id - b.id),
  )
  return limit === -1 ? sorted : sorted.slice(0, limit)
}

/** Undefined when FTS5 could not read the query. */
async function answer(
  pages: SearchPages,
  pass: SearchPass,
  page: PageOfPass,
): Promise<FoundRow[] | undefined> {
  try {
    return await pages.of(pass, page)
  } catch (error) {
    if (pass.kind === 'index' && pass.mayBeRefused && isQueryError(error)) return undefined
    throw error
  }
}

function isNeedless(pass: SearchPass, answered: readonly number[], isAny: boolean): boolean {
  return pass.unless === 'answered' ? answered.includes(0) : pass.unless === 'found' && isAny
}

function keyOf(
  row: FoundRow,
  pass: SearchPass,
  index: number,
  answered: readonly number[],
): SearchKey {
  const value = pass.kind === 'index' ? (row.rank ?? 0) : row.timestamp
  return { pass: index, answered, value, id: row.id }
}

/** Whether FTS5 could not read the query, as opposed to the index being absent or broken. */
function isQueryError(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError &&
    error.sqliteCode === 'SQLITE_ERROR' &&
    /^(?:fts5: |fts5 expression |unterminated string|no such column: |unknown special query)/.test(
      error.message,
    )
  )
}

import type { Handle } from '../database/handle.ts'
import type { QueryOptions } from '../database/prepared-query.ts'
import { DatabaseError, InvalidInputError } from '../errors.ts'
import { assertIndexesWhole } from './index-state.ts'
import { contextOf, type ContextMessage } from './search-context.ts'
import { searchAttempts, type SearchAttempt } from './search-attempts.ts'
import { searchRequest, type SearchOptions, type SearchRequest } from './search-request.ts'
import { findByIndex, findByScan, type FoundMessage } from './search-statements.ts'

/** A message that was found. `snippet` is an excerpt, with `>>>` and `<<<` around what an index hit. */
export interface SearchHit extends FoundMessage {
  /** The message before, the hit and the message after, as far as they exist. */
  readonly context: readonly ContextMessage[]
}

/** Finds what was said, in any session of the file. */
export class SearchRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /**
   * Words must all occur; `"a phrase"`, `OR`, `NOT` and `prefix*` are understood, everything else is
   * text (spec §13). A blank query finds nothing.
   * @throws {InvalidInputError} for arguments of a wrong type or range, a query longer than 65,536
   *   characters, or more terms than can be looked for at once.
   * @throws {DatabaseCorruptError} when a full-text index is damaged or does not hold every message:
   *   the answer would not be whole.
   * @throws the reason of `options.signal`.
   */
  async messages(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    const { signal } = options
    const request = searchRequest(query, options)
    await assertIndexesWhole(this.#db.read)
    const found = await this.#find(request, signal && { signal })
    const contexts = await contextOf(
      this.#db.read,
      found.map((message) => message.id),
    )
    return found.map((message) => ({ ...message, context: contexts.get(message.id) ?? [] }))
  }

  /** Each attempt looks less strictly than the one before; the first that finds anything is the answer. */
  async #find(request: SearchRequest, options?: QueryOptions): Promise<FoundMessage[]> {
    if (request.scope.limit === 0) return []
    let refusal: DatabaseError | undefined
    for (const attempt of searchAttempts(request.query)) {
      if (attempt.onlyIfRefused && !refusal) continue
      try {
        refusal = undefined
        const found = await this.#run(attempt, request, options)
        if (found.length > 0 || (await this.#findsAny(attempt, request, options))) return found
      } catch (error) {
        if (!isQueryError(error)) throw error
        refusal = error
      }
    }
    if (refusal) throw new InvalidInputError('query', 'cannot be searched', { cause: refusal })
    return []
  }

  /** An empty page behind the last hit is an answer, too. */
  async #findsAny(
    attempt: SearchAttempt,
    request: SearchRequest,
    options?: QueryOptions,
  ): Promise<boolean> {
    if (request.scope.offset === 0) return false
    const scope = { ...request.scope, limit: 1, offset: 0 }
    return (await this.#run(attempt, { ...request, scope }, options)).length > 0
  }

  #run(
    attempt: SearchAttempt,
    { scope, order }: SearchRequest,
    options?: QueryOptions,
  ): Promise<FoundMessage[]> {
    const db = this.#db.heavy
    if (attempt.kind === 'scan') return findByScan(db, scope, attempt.term, attempt.filter, options)
    const { index, match, filter } = attempt
    return findByIndex(db, index, { ...scope, match }, order, filter, options)
  }
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

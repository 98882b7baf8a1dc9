import type { Handle } from '../database/handle.ts'
import { lookupText } from './input.ts'
import { ancestorIds, descendantIds, resumeTarget, tipId } from './lineage-queries.ts'

/** Walks over parents and children; they end on circles and on endless chains (spec §9). */
export class LineageRepository {
  readonly #db: Handle

  constructor(db: Handle) {
    this.#db = db
  }

  /** The oldest first, the session itself last; at most 100, the oldest missing. */
  async ancestors(id: string): Promise<string[]> {
    return ancestorIds(this.#db.read, lookupText('id', id))
  }

  /** All that came from the session, itself not among them; the first started first. */
  async descendants(id: string): Promise<string[]> {
    return descendantIds(this.#db.read, lookupText('id', id))
  }

  /** The part that carries a compressed conversation on today; the id itself if there is none. */
  async tip(id: string): Promise<string> {
    return tipId(this.#db.read, lookupText('id', id))
  }

  /** Where to go on: the session, or, if nothing was said in it, the latest child line's first that was. */
  async resumeTarget(id: string): Promise<string> {
    return resumeTarget(this.#db.read, lookupText('id', id))
  }
}

import type { Store } from '../index.ts'
import { CommandError } from './errors.ts'
import { localTime, oneLine } from './text.ts'

const CANDIDATES = 8

/**
 * The session to show for what the user typed: its id, a title (of several numbered parts the latest
 * one, spec §8), or the beginning of an id. An empty session gives way to its continuation (spec §9).
 * @throws {CommandError} naming the sessions that were perhaps meant.
 */
export async function findSession(store: Store, typed: string): Promise<string> {
  const id =
    (await idOf(store, typed)) ??
    (await store.titles.resolve(typed)) ??
    (await store.sessions.resolveId(typed)) ??
    (await failWithCandidates(store, typed))
  return store.lineage.resumeTarget(id)
}

/**
 * The session to change: nothing but its whole id, its whole title, or the beginning of its id alone.
 * @throws {CommandError} naming the sessions that were perhaps meant.
 */
export async function findExactSession(store: Store, typed: string): Promise<string> {
  return (
    (await idOf(store, typed)) ??
    (await store.titles.find(typed))?.id ??
    (await store.sessions.resolveId(typed)) ??
    (await failWithCandidates(store, typed))
  )
}

async function idOf(store: Store, typed: string): Promise<string | undefined> {
  // An empty text is the beginning of every id.
  if (typed === '') throw new CommandError('name a session: a title, an id or the beginning of one')
  return (await store.sessions.find(typed))?.id
}

async function failWithCandidates(store: Store, typed: string): Promise<never> {
  const begun = await idsBeginningWith(store, typed)
  if (begun.length > 0) {
    throw new CommandError(`${quoted(typed)} is the beginning of several ids: ${listed(begun)}`)
  }
  const similar = await titlesContaining(store, typed)
  const hint = similar.length > 0 ? `; similar titles: ${listed(similar)}` : ''
  throw new CommandError(`no session has the title or id ${quoted(typed)}${hint}`)
}

interface Candidate {
  readonly id: string
  readonly title: string | null
  readonly started_at: number
}

function idsBeginningWith(store: Store, typed: string): Promise<Candidate[]> {
  return candidates(store)
    .where((eb) =>
      eb(
        eb.fn('substr', [eb.fn('lower', ['id']), eb.lit(1), eb.lit(Array.from(typed).length)]),
        '=',
        eb.fn('lower', [eb.val(typed)]),
      ),
    )
    .execute()
}

function titlesContaining(store: Store, typed: string): Promise<Candidate[]> {
  return candidates(store)
    .where((eb) =>
      eb(
        eb.fn('instr', [eb.fn('lower', ['title']), eb.fn('lower', [eb.val(typed)])]),
        '>',
        eb.lit(0),
      ),
    )
    .execute()
}

function candidates(store: Store) {
  return store.db
    .selectFrom('sessions')
    .select(['id', 'title', 'started_at'])
    .orderBy('started_at', 'desc')
    .limit(CANDIDATES + 1)
}

function listed(found: readonly Candidate[]): string {
  const shown = found.slice(0, CANDIDATES).map(({ id, title, started_at }) => {
    const about = [title === null ? '' : `"${title}", `, localTime(started_at)].join('')
    return `${id} (${about})`
  })
  return shown.join(', ') + (found.length > CANDIDATES ? ', …' : '')
}

function quoted(text: string): string {
  return `"${oneLine(text)}"`
}

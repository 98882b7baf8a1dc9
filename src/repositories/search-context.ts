import { sql, type Kysely } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { decodeContent } from '../schema/content-codec.ts'
import type { Database } from '../schema/database.ts'
import { sliceCodePoints } from '../schema/python-text.ts'

/** One line of what was said around a hit. */
export interface ContextMessage {
  readonly role: string
  /** The first 200 characters; structured content as its text parts. */
  readonly content: string
}

const CONTEXT_LENGTH = 200
const NO_TEXT = '[multimodal content]'

/**
 * The message before each of the given ones, itself, and the one after, within its session and by
 * time (spec §13.4). One statement for all of them.
 */
export async function contextOf(
  db: Kysely<Database>,
  ids: readonly number[],
): Promise<Map<number, ContextMessage[]>> {
  const contexts = new Map<number, ContextMessage[]>(ids.map((id) => [id, []]))
  if (ids.length === 0) return contexts
  for (const row of await around.all(db, { ids: JSON.stringify(ids) })) {
    contexts.get(row.hitId)?.push({ role: row.role, content: contextText(row.content) })
  }
  return contexts
}

// A tool's output can be megabytes. Only what has a NUL may be structured, and substr ends at one.
const contextColumn = sql<string | null>`
  iif(instr(near.content, char(0)) = 0, substr(near.content, 1, ${sql.lit(CONTEXT_LENGTH)}), near.content)`

const around = prepare<{ ids: string }>()((db, p) =>
  db
    .selectFrom(sql<{ value: number }>`json_each(${p.ids})`.as('wanted'))
    .crossJoin('messages as hit')
    .crossJoin('messages as near')
    .whereRef('hit.id', '=', 'wanted.value')
    .where((eb) => {
      const sameSession = eb
        .selectFrom('messages as other')
        .select('other.id')
        .whereRef('other.session_id', '=', 'hit.session_id')
        .limit(1)
      const before = sameSession
        .where(sql<boolean>`(other.timestamp, other.id) < (hit.timestamp, hit.id)`)
        .orderBy('other.timestamp', 'desc')
        .orderBy('other.id', 'desc')
      const after = sameSession
        .where(sql<boolean>`(other.timestamp, other.id) > (hit.timestamp, hit.id)`)
        .orderBy('other.timestamp')
        .orderBy('other.id')
      return eb('near.id', 'in', sql<number>`(hit.id, (${before}), (${after}))`)
    })
    .select(['hit.id as hitId', 'near.role', contextColumn.as('content')])
    .orderBy('near.timestamp')
    .orderBy('near.id'),
)

function contextText(stored: string | null): string {
  const content = decodeContent(stored)
  if (typeof content === 'string') return sliceCodePoints(content, CONTEXT_LENGTH)
  if (!Array.isArray(content)) return ''
  return sliceCodePoints(content.flatMap(textOfPart).join(' ') || NO_TEXT, CONTEXT_LENGTH)
}

function textOfPart(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { type, text } = part as { type?: unknown; text?: unknown }
  return type === 'text' && typeof text === 'string' ? [text] : []
}

import { randomBytes } from 'node:crypto'

import type { Transaction } from 'kysely'

import { prepare } from '../database/prepared-query.ts'
import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Database } from '../schema/database.ts'
import { encodeJsonColumn } from '../schema/python-json.ts'
import { optionalText, requireObject, requireText } from './input.ts'

/** A session to be made (spec §7). */
export interface NewSession {
  /** Made from the local time when absent. */
  id?: string
  /** Where the conversation comes from, for example `telegram`. */
  source: string
  userId?: string | null
  model?: string | null
  /** Any JSON value; an empty one is stored as null. */
  modelConfig?: unknown
  systemPrompt?: string | null
  /** The session this one carries on or was started by; it must exist. */
  parentSessionId?: string | null
}

export interface NewSessionRow {
  readonly id: string
  readonly source: string
  readonly userId: string | null
  readonly model: string | null
  readonly modelConfig: string | null
  readonly systemPrompt: string | null
  readonly parentSessionId: string | null
}

/** @throws {InvalidInputError} naming the field that cannot be stored. */
export function toNewSessionRow(session: NewSession): NewSessionRow {
  requireObject('session', session)
  return {
    id: session.id === undefined ? newSessionId() : requireSessionId('id', session.id),
    source: requireText('source', session.source),
    userId: optionalText('userId', session.userId),
    model: optionalText('model', session.model),
    modelConfig: encodeJsonColumn(session.modelConfig, 'modelConfig'),
    systemPrompt: optionalText('systemPrompt', session.systemPrompt),
    parentSessionId: optionalText('parentSessionId', session.parentSessionId),
  }
}

/** The id of a session that is to be written; the agent names transcript files after it. */
export function requireSessionId(field: string, value: unknown): string {
  const id = requireText(field, value)
  if (id.includes('\0')) throw new InvalidInputError(field, 'must not contain U+0000')
  return id
}

/** Writes the row unless there is one of that id; says whether it did (spec §7). */
export async function insertSession(
  trx: Transaction<Database>,
  row: NewSessionRow,
): Promise<boolean> {
  const { numAffectedRows } = await insert.run(trx, { ...row, startedAt: nowSeconds() })
  return numAffectedRows === 1n
}

const insert = prepare<NewSessionRow & { startedAt: number }>()((db, p) =>
  db
    .insertInto('sessions')
    .values({
      id: p.id,
      source: p.source,
      user_id: p.userId,
      model: p.model,
      model_config: p.modelConfig,
      system_prompt: p.systemPrompt,
      parent_session_id: p.parentSessionId,
      started_at: p.startedAt,
    })
    .onConflict((conflict) => conflict.column('id').doNothing()),
)

/** `YYYYMMDD_HHMMSS_<8 hex>` in local time, as the agent's own ids begin. */
function newSessionId(): string {
  const now = new Date(Date.now())
  const two = (part: number): string => String(part).padStart(2, '0')
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`
  return `${day}_${time}_${randomBytes(4).toString('hex')}`
}

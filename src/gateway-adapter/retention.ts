import { sql } from 'kysely'

import { InvalidInputError } from '../errors.ts'
import { nowSeconds } from '../schema/clock.ts'
import type { Store } from '../store.ts'

/** How many rows of each kind were dropped. */
export interface Forgotten {
  readonly inbound: number
  readonly outbound: number
  readonly turns: number
  readonly commands: number
}

const ROWS_PER_STEP = 500

// Each in the order of an index that runs with time, so that a step reads what it deletes and little more.
const steps = {
  inbound: (before: number) => sql`delete from store_inbound
    where (platform, account, chat_id, platform_message_id) in (
      select platform, account, chat_id, platform_message_id from (
        select platform, account, chat_id, platform_message_id, received_at
        from store_inbound order by message_id limit ${ROWS_PER_STEP})
      where received_at < ${before})`,
  outbound: (before: number) => sql`delete from store_outbound
    where (platform, account, chat_id, platform_message_id) in (
      select platform, account, chat_id, platform_message_id from (
        select platform, account, chat_id, platform_message_id, sent_at
        from store_outbound order by message_id limit ${ROWS_PER_STEP})
      where sent_at < ${before})`,
  turns: (before: number) => sql`delete from store_turns where id in (
    select id from (select id, recorded_at from store_turns order by id limit ${ROWS_PER_STEP})
    where recorded_at < ${before})`,
  commands: (before: number) => sql`delete from store_commands
    where (platform, account, chat_id, platform_message_id, verb) in (
      select platform, account, chat_id, platform_message_id, verb from store_commands
      where taken_at < ${before} limit ${ROWS_PER_STEP})`,
} as const

/**
 * Forgets the platforms' ids of what is older than that, the answered and the unanswered alike; messages,
 * usage and revisions stay. From then on such a message would count as new if it were delivered again,
 * and an edit or delete of it is passed over. Small transactions: nobody waits long.
 */
export async function forgetOlder(store: Store, olderThanDays: number): Promise<Forgotten> {
  if (!Number.isFinite(olderThanDays) || olderThanDays < 1) {
    throw new InvalidInputError('olderThanDays', 'must be a number from 1 up')
  }
  const before = nowSeconds() - olderThanDays * 86_400
  const forgotten = { inbound: 0, outbound: 0, turns: 0, commands: 0 }
  for (const kind of Object.keys(steps) as (keyof typeof steps)[]) {
    let deleted: number
    do {
      deleted = await store.transaction(async ({ db }) => {
        const { numAffectedRows = 0n } = await steps[kind](before).execute(db)
        return Number(numAffectedRows)
      })
      forgotten[kind] += deleted
    } while (deleted > 0)
  }
  await store.transaction(({ db }) =>
    db.deleteFrom('store_leases').where('expires_at', '<', before).execute(),
  )
  return forgotten
}

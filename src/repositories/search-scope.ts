import { sql, type RawBuilder, type SqlBool } from 'kysely'

import type { SearchScope } from './search-request.ts'

// One text whatever is wanted, so that one prepared statement serves every list.

/** Whether a message `m` of a session `s` is to be kept. */
export function messageInScope(p: SearchScope): RawBuilder<SqlBool> {
  return sql<SqlBool>`
    ${sessionInScope(p)}
    and (${p.roles} is null or m.role in (select value from json_each(${p.roles})))
    and (${p.since} is null or m.timestamp >= ${p.since})
    and (${p.until} is null or m.timestamp < ${p.until})`
}

/** Whether a session `s` is. */
export function sessionInScope(p: SearchScope): RawBuilder<SqlBool> {
  return sql<SqlBool>`
    (${p.sources} is null or s.source in (select value from json_each(${p.sources})))
    and (${p.excludeSources} is null
      or s.source not in (select value from json_each(${p.excludeSources})))
    and (${p.sessionIds} is null
      or s.id in (select value from json_each(${p.sessionIds})))
    and (${p.excludeSessionIds} is null
      or s.id not in (select value from json_each(${p.excludeSessionIds})))
    and (${p.userIds} is null
      or s.user_id in (select value from json_each(${p.userIds})))`
}

/** The agent's own search statements (spec §13.3), to compare ours with. */

const COLUMNS = `m.id, m.session_id, m.role, m.content, m.timestamp, m.tool_name,
  s.source, s.model, s.started_at as session_started`

/** Binds the MATCH text, limit and offset. */
export function agentIndexSql(index: 'messages_fts' | 'messages_fts_trigram'): string {
  return `select ${COLUMNS}, snippet(${index}, 0, '>>>', '<<<', '...', 40) as snippet
    from ${index} join messages m on m.id = ${index}.rowid join sessions s on s.id = m.session_id
    where ${index} match ? order by rank limit ? offset ?`
}

/** Binds the first term, each pattern three times, limit and offset. */
export function agentLikeSql(patterns: number): string {
  const one = String.raw`m.content like ? escape '\' or m.tool_name like ? escape '\'
    or m.tool_calls like ? escape '\'`
  const any = Array.from({ length: patterns }, () => `(${one})`).join(' or ')
  return `select ${COLUMNS}, substr(m.content, max(1, instr(m.content, ?) - 40), 120) as snippet
    from messages m join sessions s on s.id = m.session_id
    where (${any}) order by m.timestamp desc limit ? offset ?`
}

/** Binds the hit's session, its timestamp twice, its id; once for each of the three parts. */
export const agentContextSql = `
  select role, content from (
    select * from (select role, content, timestamp, id from messages
      where session_id = ? and (timestamp < ? or (timestamp = ? and id < ?))
      order by timestamp desc, id desc limit 1)
    union all
    select * from (select role, content, timestamp, id from messages
      where session_id = ? and timestamp = ? and timestamp = ? and id = ?)
    union all
    select * from (select role, content, timestamp, id from messages
      where session_id = ? and (timestamp > ? or (timestamp = ? and id > ?))
      order by timestamp, id limit 1))
  order by timestamp, id`

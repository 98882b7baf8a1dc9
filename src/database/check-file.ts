import type { Database as RawConnection } from 'better-sqlite3'

import { sqliteCode } from './sqlite-errors.ts'

/** Something that is wrong with a file. */
export interface FileProblem {
  /**
   * `file`: pages are damaged, restore a backup. `index`: a full-text index is damaged or lacks
   * messages, rebuild it. `reference`: a row points to one that does not exist.
   */
  readonly kind: 'file' | 'index' | 'reference'
  /** The index or table, where it is known. */
  readonly name: string | undefined
  /** What is wrong, for a person; its wording is no contract. */
  readonly detail: string
}

const INDEXES = ['messages_fts', 'messages_fts_trigram'] as const
const MAX_PROBLEMS = 100
const MESSAGES = 'messages'

/** Reads the whole file and says what is wrong with it; empty when nothing is. It changes nothing. */
export function checkFile(raw: RawConnection): FileProblem[] {
  try {
    return [...damage(raw), ...INDEXES.flatMap((index) => gaps(raw, index)), ...orphans(raw)]
  } catch (error) {
    if (!/CORRUPT|NOTADB/.test(sqliteCode(error) ?? '')) throw error
    return [{ kind: 'file', name: undefined, detail: (error as Error).message }]
  }
}

function damage(raw: RawConnection): FileProblem[] {
  const lines = raw.pragma(`integrity_check(${MAX_PROBLEMS})`) as { integrity_check: string }[]
  return lines
    .map((line) => line.integrity_check)
    .filter((detail) => detail !== 'ok')
    .map((detail): FileProblem => {
      const index = /FTS5 table main\.(\w+)/.exec(detail)?.[1]
      return { kind: index === undefined ? 'file' : 'index', name: index, detail }
    })
    .filter(({ name }) => name !== 'messages_fts_trigram' || !isSoundForOlderSqlite(raw))
}

/**
 * An older SQLite, the agent's 3.40 among them, ends a text at its first NUL when it cuts it into
 * trigrams; ours passes over it and calls the index damaged. So a copy is checked in which the texts
 * end where they were indexed to.
 */
function isSoundForOlderSqlite(raw: RawConnection): boolean {
  raw.unsafeMode(true)
  raw.exec(`create virtual table temp.probe using fts5(content, tokenize = 'trigram')`)
  try {
    for (const part of ['data', 'idx', 'docsize', 'config', 'content']) {
      raw.exec(`delete from temp.probe_${part}`)
      raw.exec(`insert into temp.probe_${part} select * from main.messages_fts_trigram_${part}`)
    }
    // SQL's length ends at the NUL, too. Three characters make the first trigram, each further one
    // more; a size below 128 is a single byte, and a longer one is told by its last.
    const rows = raw
      .prepare(
        `select copy.id, length(copy.c0) as length, indexed.sz as size
         from temp.probe_content as copy join temp.probe_docsize as indexed on indexed.id = copy.id
         where instr(copy.c0, char(0))`,
      )
      .all() as { id: number; length: number; size: Uint8Array }[]
    const cut = raw.prepare(
      `update temp.probe_content set c0 = substr(c0, 1, length(c0)) where id = ?`,
    )
    for (const { id, length, size } of rows) {
      if (fromVarint(size) === Math.max(0, length - 2)) cut.run(id)
    }
    raw.exec(`insert into temp.probe(probe) values ('integrity-check')`)
    return true
  } catch (error) {
    if (!sqliteCode(error)?.startsWith('SQLITE_CORRUPT')) throw error
    return false
  } finally {
    raw.exec('drop table temp.probe')
    raw.unsafeMode(false)
  }
}

/** SQLite's variable-length integer: seven bits a byte, the highest first. */
function fromVarint(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 128 + (byte & 0x7f), 0)
}

/** What an index should hold and does not, or the other way round, and the triggers that keep it. */
function gaps(raw: RawConnection, index: (typeof INDEXES)[number]): FileProblem[] {
  const exists = raw.prepare('select 1 from sqlite_master where name = ?')
  const problem = (detail: string): FileProblem => ({ kind: 'index', name: index, detail })
  const ddl = raw.prepare('select sql from sqlite_master where name = ?').pluck().get(index)
  if (typeof ddl !== 'string') return [problem('the index is missing')]
  const source = sourceOf(ddl)
  const count = (query: string): number => (raw.prepare(query).pluck().get() as number) ?? 0
  const lacking = count(
    `select count(*) from ${source} where id not in (select id from ${index}_docsize)`,
  )
  const surplus = count(
    `select count(*) from ${index}_docsize where id not in (select id from ${source})`,
  )
  const stale = source === MESSAGES ? count(staleIn(index)) : 0
  return [
    ...['insert', 'delete', 'update']
      .filter((event) => !exists.get(`${index}_${event}`))
      .map((event) => problem(`its ${event} trigger is missing`)),
    ...(lacking > 0 ? [problem(`it lacks ${lacking} messages`)] : []),
    ...(surplus > 0 ? [problem(`it holds ${surplus} messages that do not exist`)] : []),
    ...(stale > 0 ? [problem(`it holds ${stale} messages with another text`)] : []),
  ]
}

/** What is to be indexed: a newer Hermes leaves some messages out on purpose, by a view. */
function sourceOf(ddl: string): string {
  const name = /\bcontent\s*=\s*['"]?(\w+)/i.exec(ddl)?.[1]
  return name === undefined ? MESSAGES : `"${name}"`
}

/** Only an index with a text of its own can be behind. Texts with a NUL are kept otherwise on purpose. */
function staleIn(index: string): string {
  return `
    select count(*) from messages join ${index}_content as copy on copy.id = messages.id
    where copy.c0 is not coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' ||
        coalesce(tool_calls, '')
      and not instr(coalesce(content, '') || coalesce(tool_name, '') || coalesce(tool_calls, ''), char(0))`
}

function orphans(raw: RawConnection): FileProblem[] {
  const rows = raw.prepare(
    `select "table", count(*) as count from pragma_foreign_key_check group by 1`,
  )
  return (rows.all() as { table: string; count: number }[]).map(({ table, count }) => ({
    kind: 'reference',
    name: table,
    detail: `${count} rows point to a row that does not exist`,
  }))
}

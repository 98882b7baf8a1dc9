import { sql, type RawBuilder } from 'kysely'

/**
 * Whether a column begins with a text, ASCII case aside; `length` is in code points. The same rows
 * as with LIKE, without its wildcards, its pattern limit, and its end at U+0000.
 */
export function beginsWith(
  column: 'id' | 'title',
  { text, length }: { text: string; length: number },
): RawBuilder<boolean> {
  return sql<boolean>`lower(substr(${sql.ref(column)}, 1, ${length})) = lower(${text})`
}

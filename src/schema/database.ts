import type { DB } from './generated.ts'

/** A full-text index: `rank` and `rowid` exist on every FTS5 table. */
export interface SearchIndex {
  content: string
  rank: number
  rowid: number
}

/** Every table of a state.db: those kysely-codegen found in a live file, and the two indexes. */
export interface Database extends DB {
  messages_fts: SearchIndex
  messages_fts_trigram: SearchIndex
}

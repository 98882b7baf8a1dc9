// `npm run codegen`: writes generated.ts from the schema of a freshly migrated file; with --verify it
// only compares and fails on a difference.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import codegen from 'kysely-codegen'
import { sql } from 'kysely'

import { openStore } from '../open-store.ts'

const outFile = path.join(import.meta.dirname, 'generated.ts')
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hermes-codegen-'))
try {
  await using store = await openStore({ path: path.join(folder, 'state.db') })
  // They are part of a file only once topics were used in it.
  await store.telegramTopics.ensureTables()

  await codegen.generate({
    db: store.db,
    dialect: codegen.getDialect('sqlite'),
    outFile,
    verify: process.argv.includes('--verify'),
    postprocess: async ({ metadata }) => {
      // The generator would type the indexes' shadow tables, and primary keys as nullable.
      const { rows } = await sql<{ name: string }>`
        select name from pragma_table_list where type in ('shadow', 'virtual')
      `.execute(store.db)
      const hidden = new Set(rows.map((row) => row.name))
      const tables = metadata.tables.filter((table) => !hidden.has(table.name))
      for (const table of tables) {
        const keys = await sql<{ name: string }>`
          select name from pragma_table_info(${table.name}) where pk > 0
        `.execute(store.db)
        for (const column of table.columns) {
          if (keys.rows.some((key) => key.name === column.name)) column.isNullable = false
        }
      }
      return Object.assign(metadata, { tables })
    },
  })
} finally {
  fs.rmSync(folder, { recursive: true, force: true })
}

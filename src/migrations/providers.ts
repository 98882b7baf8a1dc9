import { sql, type Kysely } from 'kysely'
import type { Migration, MigrationProvider } from 'kysely/migration'

import type { OnProgress } from './runner.ts'
import { hermesSteps, ownSteps, versionOf, type StepOptions } from './steps.ts'

/** The mirrored chain; each step ends by raising `schema_version` to its own number. */
export function hermesProvider(
  onProgress: OnProgress = () => {},
  options: StepOptions = {},
): MigrationProvider {
  const migrations: Record<string, Migration> = {}
  for (const [name, step] of Object.entries(hermesSteps(options))) {
    migrations[name] = {
      async up(db) {
        onProgress({ kind: 'step', name })
        await step.up(db)
        await raiseVersion(db, versionOf(name))
      },
    }
  }
  return { getMigrations: async () => migrations }
}

/** The chain of our own tables. */
export const ownProvider: MigrationProvider = {
  getMigrations: async () => ({ ...ownSteps }),
}

async function raiseVersion(db: Kysely<unknown>, version: number): Promise<void> {
  await sql`insert into schema_version (version)
    select ${version} where not exists (select 1 from schema_version)`.execute(db)
  await sql`update schema_version set version = ${version} where version < ${version}`.execute(db)
}

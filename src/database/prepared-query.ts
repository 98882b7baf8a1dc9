import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Compilable,
  type CompiledQuery,
  type QueryResult,
} from 'kysely'

import type { Database } from '../schema/database.ts'
import { directReadOf } from './direct-reads.ts'
import { togetherIn } from './together.ts'
import type { RunAtOnce } from './write-at-once.ts'

/** Stands for a value while a query is built once; replaced at each run. */
class Hole {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export interface QueryOptions {
  /** Stops waiting at once, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** A query that was built and compiled once and is run with new values each time. */
export interface PreparedQuery<P extends object, R> {
  all(db: Kysely<Database>, params: P, options?: QueryOptions): Promise<R[]>
  first(db: Kysely<Database>, params: P): Promise<R | undefined>
  /** For what returns no rows; `insertId` and `numAffectedRows` are in the result. */
  run(db: Kysely<Database>, params: P): Promise<QueryResult<R>>
  /** The rowids of what an insert adds, one row for each of `rows`. */
  insertAll(db: Kysely<Database>, rows: readonly P[]): Promise<readonly number[]>
  /** As `run`, inside a change without promises. */
  runAtOnce(run: RunAtOnce, params: P): { insertId: number }
}

const compiler = new Kysely<Database>({
  dialect: {
    createDriver: () => new DummyDriver(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** Any property read from it is a hole of that name. */
const holes: object = new Proxy({}, { get: (_, name) => new Hole(String(name)) })

/**
 * Declares a query for a hot path: building and compiling costs more than most of them take to run.
 * Use as `prepare<{ id: string }>()((db, p) => db.selectFrom(…).where('id', '=', p.id))`. `build` runs
 * once, at first use, so it must not look at the values in `p`: they are not there yet.
 */
export function prepare<P extends object>() {
  return <R>(build: (db: Kysely<Database>, p: P) => Compilable<R>): PreparedQuery<P, R> => {
    let compiled: CompiledQuery<R> | undefined
    const once = (): CompiledQuery<R> => (compiled ??= build(compiler, holes as P).compile())
    const filled = (params: P): unknown[] => once().parameters.map((value) => fill(value, params))
    const run = (db: Kysely<Database>, params: P): Promise<QueryResult<R>> =>
      db.executeQuery({ ...once(), parameters: filled(params) })
    const all = async (db: Kysely<Database>, params: P, options?: QueryOptions): Promise<R[]> => {
      const query = once()
      const parameters = filled(params)
      const rows = directReadOf(db)?.(query.sql, parameters) as R[] | undefined
      return rows ?? (await db.executeQuery<R>({ ...query, parameters }, options)).rows
    }
    return {
      all,
      async first(db, params) {
        return (await all(db, params))[0]
      },
      run,
      async insertAll(db, rows) {
        const together = togetherIn(db)
        if (together) return together(once().sql, rows.map(filled))
        const ids: number[] = []
        for (const row of rows) ids.push(Number((await run(db, row)).insertId))
        return ids
      },
      runAtOnce: (runNow, params) => runNow(once().sql, filled(params)),
    }
  }
}

function fill(value: unknown, params: object): unknown {
  return value instanceof Hole ? (params as Record<string, unknown>)[value.name] : value
}

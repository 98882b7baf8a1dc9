import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { installPacked } from './support/packed-package.ts'
import { tempFolder } from './support/temp-store.ts'

const run = promisify(execFile)
const project = path.resolve(import.meta.dirname, '..')

test('the packed package works from JavaScript and from TypeScript in an empty project', async (t) => {
  const folder = tempFolder(t)
  const installed = await installPacked(folder)
  fs.writeFileSync(
    path.join(folder, 'consumer.js'),
    `import { openStore, SessionNotFoundError } from 'hermes-session-store'
     import { openGateway } from 'hermes-session-store/gateway'
     import { hermesProvider } from 'hermes-session-store/migrations'
     await using store = await openStore({ path: 'state.db' })
     const id = await store.sessions.create({ source: 'cli' })
     await store.messages.append(id, { role: 'user', content: 'packed and unpacked' })
     const hits = await store.search.messages('unpacked')
     const missing = await store.sessions.get('none').catch((error) => error)
     console.log(JSON.stringify({
       hits: hits.length,
       typed: missing instanceof SessionNotFoundError,
       gateway: typeof openGateway,
       steps: Object.keys(await hermesProvider().getMigrations()).length,
     }))`,
  )
  fs.writeFileSync(
    path.join(folder, 'consumer.ts'),
    `import { openStore, type Database, type Store } from 'hermes-session-store'
     import type { Kysely } from 'kysely'
     const store: Store = await openStore({ path: 'state.db', retry: { retries: 3 } })
     const db: Kysely<Database> = store.db
     const rows = await db.selectFrom('sessions').select(['id', 'title']).execute()
     const title: string | null | undefined = rows[0]?.title
     const id: number = await store.messages.append('s', { role: 'user', content: 'x' })
     // @ts-expect-error a session needs a source
     await store.sessions.create({})
     export { title, id }`,
  )

  const { stdout } = await run(process.execPath, ['consumer.js'], { cwd: folder })
  await run(
    process.execPath,
    [
      path.join(project, 'node_modules/typescript/bin/tsc'),
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
      'consumer.ts',
    ],
    { cwd: folder },
  )

  assert.deepEqual(JSON.parse(stdout), { hits: 1, typed: true, gateway: 'function', steps: 11 })
  assert.ok(!fs.existsSync(path.join(installed, 'src')), 'sources are not published')
})

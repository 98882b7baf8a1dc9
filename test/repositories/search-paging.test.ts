import assert from 'node:assert/strict'
import test from 'node:test'

import { openTempStore } from '../support/temp-store.ts'

test('pages on by relevance while every rank shifts', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's', source: 'cli' })
  const say = (content: string) => store.messages.append('s', { role: 'user', content })
  for (let n = 1; n <= 60; n += 1) await say(`needle ${'hay '.repeat(n)}`)

  const seen: number[] = []
  let cursor: string | undefined
  do {
    const page = await store.search.find('needle', { limit: 7, ...(cursor && { cursor }) })
    seen.push(...page.hits.map(({ id }) => id))
    cursor = page.nextCursor
    await say('nothing but hay '.repeat(seen.length))
  } while (cursor)

  assert.deepEqual(
    seen,
    Array.from({ length: 60 }, (_, index) => index + 1),
  )
})

import assert from 'node:assert/strict'
import test from 'node:test'

import { openTempStore } from '../support/temp-store.ts'

test('a question that a continuation repeats unanswered is given once', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 'root', source: 'cli' })
  await store.sessions.create({ id: 'child', source: 'cli', parentSessionId: 'root' })
  await store.messages.appendMany('root', [
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'answer' },
    { role: 'user', content: 'again' },
    { role: 'tool', content: 'no answer' },
    { role: 'assistant', content: null },
  ])
  await store.messages.appendMany('child', [
    { role: 'user', content: '<memory-context>x</memory-context> again ' },
    { role: 'user', content: 'first' },
    { role: 'assistant', toolCalls: [{ id: 1 }] },
    { role: 'user', content: 'again' },
  ])

  const chat = await store.messages.conversation('child', { includeAncestors: true })

  assert.deepEqual(
    chat.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['first', 'again', 'first', 'again'],
  )
  assert.equal((await store.messages.conversation('child')).length, 4)
})

test('a thousand questions in a row take no thousand times a thousand steps', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s')
  const same = Array.from({ length: 5_000 }, (_, n) => ({ role: 'user', content: `q${n % 2_500}` }))
  await store.messages.appendMany('s', same)

  const chat = await store.messages.conversation('s', { includeAncestors: true })

  assert.equal(chat.length, 2_500)
})

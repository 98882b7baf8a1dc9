import assert from 'node:assert/strict'
import { test } from 'node:test'

import SqliteDatabase from 'better-sqlite3'

import { StatementCache } from '../../src/database/statement-cache.ts'

function cacheOf(capacity: number): StatementCache {
  return new StatementCache(new SqliteDatabase(':memory:'), capacity)
}

test('the same text is prepared once', () => {
  const cache = cacheOf(2)

  assert.equal(cache.get('select 1'), cache.get('select 1'))
})

test('the text not used for longest makes room', () => {
  const cache = cacheOf(2)
  const one = cache.get('select 1')
  const two = cache.get('select 2')

  cache.get('select 1')
  cache.get('select 3')

  assert.equal(cache.get('select 1'), one)
  assert.notEqual(cache.get('select 2'), two)
})

test('a statement that is being iterated is not handed out again', () => {
  const cache = cacheOf(2)
  const query = 'select value from (select 1 as value union select 2)'
  const first = cache.get(query)
  const rows = first.iterate()
  rows.next()

  const second = cache.get(query)

  assert.notEqual(second, first)
  assert.equal(second.all().length, 2)
  rows.return?.()
  assert.equal(cache.get(query), first)
})

test('a text that does not compile is not kept', () => {
  const cache = cacheOf(2)

  assert.throws(() => cache.get('selec 1'))
  assert.throws(() => cache.get('selec 1'))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { allRows, heal, shaped } from '../support/odd-file.ts'
import { assertComplete } from '../support/state-file.ts'

test('of equal titles the oldest keeps its own and the others are numbered after it', async (t) => {
  const file = shaped(
    t,
    'v2',
    `alter table sessions add column title TEXT;
     update schema_version set version = 3;
     update sessions set title = 'Trip' where id in (select id from sessions order by started_at limit 3)`,
  )

  await heal(file)

  const titles = `select title from sessions where title is not null order by started_at`
  assert.deepEqual(allRows(file, titles), [['Trip'], ['Trip #2'], ['Trip #3']])
  assertComplete(file)
})

test('a number that another session has already is passed over', async (t) => {
  const file = shaped(
    t,
    'v11',
    `drop index idx_sessions_title_unique;
     update sessions set title = null;
     insert into sessions (id, source, started_at, title) values
       ('a', 'cli', 1, 'Trip'), ('b', 'cli', 2, 'Trip #2'), ('c', 'cli', 3, 'Trip')`,
  )

  await heal(file)

  const titles = `select id, title from sessions where title is not null order by id`
  assert.deepEqual(allRows(file, titles), [
    ['a', 'Trip'],
    ['b', 'Trip #2'],
    ['c', 'Trip #3'],
  ])
})

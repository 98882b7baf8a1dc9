import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'

import { bigV9 } from '../support/big-state.ts'
import { openInChild } from '../support/open-in-child.ts'
import { assertComplete } from '../support/state-file.ts'

const GROWTH_LIMIT_KB = 24 * 1024
const BYTES = 2000

test('indexing a file six times as big takes no more memory', async (t) => {
  const small = bigV9(t, 800, BYTES)
  const big = bigV9(t, 5000, BYTES)
  assert.ok(statSync(big).size > 30e6)
  const nodeArgs = ['--max-old-space-size=40']

  const forSmall = await openInChild(small, { nodeArgs })
  const forBig = await openInChild(big, { nodeArgs })

  assert.equal(forBig.version, 11, forBig.message)
  const growth = (forBig.maxRssKb ?? Infinity) - (forSmall.maxRssKb ?? 0)
  assert.ok(growth < GROWTH_LIMIT_KB, `${growth} KB more`)
  assertComplete(big)
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { countToolCalls } from '../../src/repositories/tool-calls.ts'

test('a list counts its items, nothing counts 0, anything else counts 1', () => {
  assert.equal(countToolCalls([{}, {}]), 2)
  assert.equal(countToolCalls([]), 0)
  assert.equal(countToolCalls(null), 0)
  assert.equal(countToolCalls(undefined), 0)
  for (const value of [{}, '', '[{}, {}]', 0, false]) assert.equal(countToolCalls(value), 1)
})

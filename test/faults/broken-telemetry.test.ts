import assert from 'node:assert/strict'
import { test } from 'node:test'

import { metrics, trace } from '@opentelemetry/api'
import type { MeterProvider, TracerProvider } from '@opentelemetry/api'

import { openTempStore } from '../support/temp-store.ts'

const warnings: string[] = []
process.on('warning', ({ message }) => void warnings.push(message))

/** Whatever is called on it fails. */
function broken(): object {
  throw new Error('the collector is down')
}
const tools = { add: broken, record: broken, addCallback: broken, removeCallback: broken }
const meter = {
  createCounter: () => tools,
  createHistogram: () => tools,
  createObservableGauge: () => tools,
}
metrics.setGlobalMeterProvider({ getMeter: () => meter } as unknown as MeterProvider)
let isSpanBroken = true
const span = { recordException: broken, setStatus: broken, end: broken }
trace.setGlobalTracerProvider({
  getTracer: () => ({
    startSpan: () => (isSpanBroken ? broken() : span),
    startActiveSpan: (...args: unknown[]) =>
      isSpanBroken ? broken() : (args.at(-1) as (with_: object) => unknown)(span),
  }),
} as unknown as TracerProvider)

for (const what of ['spans that cannot start', 'spans that cannot end']) {
  test(`${what} and metrics that fail cost no write, no read and no close`, async (t) => {
    isSpanBroken = what === 'spans that cannot start'
    const store = await openTempStore(t)
    await store.sessions.create({ id: 's', source: 'cli' })

    for (const content of ['one', 'two', 'three']) {
      await store.messages.append('s', { role: 'user', content })
    }
    await assert.rejects(store.messages.append('nobody', { role: 'user', content: 'x' }), {
      code: 'SESSION_NOT_FOUND',
    })

    assert.equal((await store.search.messages('two')).length, 1)
    assert.equal(await store.messages.count('s'), 3)
    await store.close()
  })
}

test('the process was warned, once', async () => {
  await new Promise((resolve) => void setImmediate(resolve))

  assert.deepEqual(warnings, [
    'OpenTelemetry failed in hermes-session-store: Error: the collector is down',
  ])
})

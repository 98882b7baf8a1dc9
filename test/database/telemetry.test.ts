import assert from 'node:assert/strict'
import { test } from 'node:test'

import { metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

import { openTempStore } from '../support/temp-store.ts'

const spans = new InMemorySpanExporter()
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }),
)
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: measured })
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))

test('writes and slow reads are spans, and what failed says so', async (t) => {
  const store = await openTempStore(t)
  spans.reset()

  await store.sessions.ensure('s', { source: 'cli' })
  await assert.rejects(store.messages.append('nobody', { role: 'user', content: 'lost' }))
  await store.search.messages('anything')

  const finished = spans.getFinishedSpans()
  assert.deepEqual(finished.map(({ name, status }) => [name, status.code]).slice(0, 3), [
    ['hermes_store.write', SpanStatusCode.UNSET],
    ['hermes_store.write', SpanStatusCode.ERROR],
    ['hermes_store.read', SpanStatusCode.UNSET],
  ])
  assert.match(String(finished[2]?.attributes['db.query.text']), /match \?/)
})

test('counters and the size of the WAL are metrics', async (t) => {
  const store = await openTempStore(t)
  await store.sessions.ensure('s', { source: 'cli' })

  const values = await collect()

  assert.ok(Number(values.get('hermes_store.writes')?.at(-1)) >= 1)
  assert.ok(Number(values.get('hermes_store.wal.size')?.at(-1)) > 0)
})

/** The values of each metric, as they are now. */
async function collect(): Promise<Map<string, unknown[]>> {
  const { resourceMetrics } = await reader.collect()
  return new Map(
    resourceMetrics.scopeMetrics
      .flatMap((scope) => scope.metrics)
      .map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints.map(({ value }) => value)]),
  )
}

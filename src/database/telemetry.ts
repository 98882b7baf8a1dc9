import type * as Api from '@opentelemetry/api'

import type { CommittedBatch } from './statistics.ts'

/** Where spans and metrics go. */
export interface Telemetry {
  /** Runs a piece of work in a span of that name, a child of the caller's. */
  span<T>(name: string, attributes: Record<string, string>, run: () => Promise<T>): Promise<T>
  committed(batch: CommittedBatch): void
  retried(): void
  failed(): void
  /** Measured whenever metrics are collected, until the function that comes back is called. */
  gaugeWal(bytes: () => number): () => void
}

export const noTelemetry: Telemetry = {
  span: (_name, _attributes, run) => run(),
  committed: () => {},
  retried: () => {},
  failed: () => {},
  gaugeWal: () => () => {},
}

const SCOPE = 'hermes-session-store'

/**
 * OpenTelemetry where the application has installed its API, nothing elsewhere. Asked at each opening:
 * a meter belongs to the provider that is registered by then.
 */
export async function loadTelemetry(): Promise<Telemetry> {
  try {
    const api = await import('@opentelemetry/api')
    return quietly(() => telemetryOf(api)) ?? noTelemetry
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return noTelemetry
  }
}

function telemetryOf(api: typeof Api): Telemetry {
  // A proxy, which works with a provider that is registered later, too.
  const tracer = api.trace.getTracer(SCOPE)
  const meter = api.metrics.getMeter(SCOPE)
  const writes = meter.createCounter('hermes_store.writes')
  const failures = meter.createCounter('hermes_store.write.failures')
  const retries = meter.createCounter('hermes_store.write.retries')
  const batches = meter.createHistogram('hermes_store.commit.writes')
  const held = meter.createHistogram('hermes_store.commit.duration', { unit: 'ms' })
  const waited = meter.createHistogram('hermes_store.commit.wait', { unit: 'ms' })
  const wal = meter.createObservableGauge('hermes_store.wal.size', { unit: 'By' })
  return {
    span: async (name, attributes, run) => {
      const span = quietly(() => tracer.startSpan(name, { attributes }))
      if (!span) return run()
      const inSpan = quietly(() => api.trace.setSpan(api.context.active(), span))
      let running: ReturnType<typeof run> | undefined
      const begin = (): ReturnType<typeof run> => (running ??= run())
      if (inSpan) void quietly(() => api.context.with(inSpan, begin))
      try {
        return await begin()
      } catch (error) {
        quietly(() => {
          span.recordException(error as Error)
          span.setStatus({ code: api.SpanStatusCode.ERROR, message: String(error) })
        })
        throw error
      } finally {
        quietly(() => span.end())
      }
    },
    committed: (batch) =>
      quietly(() => {
        writes.add(batch.writes)
        batches.record(batch.writes)
        held.record(batch.heldMs)
        waited.record(batch.waitedMs)
      }),
    retried: () => quietly(() => retries.add(1)),
    failed: () => quietly(() => failures.add(1)),
    gaugeWal: (bytes) => {
      const observe = (result: { observe(value: number): void }): void => result.observe(bytes())
      quietly(() => wal.addCallback(observe))
      return () => quietly(() => wal.removeCallback(observe))
    },
  }
}

let isWarned = false

/**
 * What the application's OpenTelemetry throws becomes one process warning: the write queue calls it
 * between a COMMIT and its answer, where a throw would leave every later write waiting.
 */
function quietly<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (!isWarned) {
      process.emitWarning(`OpenTelemetry failed in hermes-session-store: ${String(error)}`)
    }
    isWarned = true
    return undefined
  }
}

#!/usr/bin/env node
// Everything is imported at run time: the store's first import refuses an old Node before the
// driver's native module, which would crash it, is loaded.
try {
  await import('../index.ts')
  const { run } = await import('./run.ts')
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`hermes-store: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

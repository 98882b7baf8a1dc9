import { UnsupportedRuntimeError } from './errors.ts'

const OLDEST_NODE = 22

// The driver's native module crashes an older Node instead of failing, so this runs before it loads.
const found = process.versions.node
if (Number.parseInt(found, 10) < OLDEST_NODE) {
  throw new UnsupportedRuntimeError(`v${found}`, `v${OLDEST_NODE}`)
}

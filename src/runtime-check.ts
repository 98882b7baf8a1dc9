import { UnsupportedRuntimeError } from './errors.ts'

/** What the driver's native module is built for; Node has it since 22.14 and 23.6. */
const NODE_API = 10

// The native module crashes an older Node instead of failing, so this runs before it loads.
const { node, napi } = process.versions
if (!(Number(napi) >= NODE_API)) {
  throw new UnsupportedRuntimeError(`v${node}`, node.startsWith('23.') ? 'v23.6' : 'v22.14')
}

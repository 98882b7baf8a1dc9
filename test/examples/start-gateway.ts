import path from 'node:path'

import { startNode, type ProcessOptions, type RunningProcess } from '../support/child.ts'

const script = path.join(import.meta.dirname, '../../examples/gateway/main.ts')

/** Starts the example as `npm start -- --db <file> …` would, without npm in between. */
export function startGateway(
  file: string,
  options: ProcessOptions & { args?: string[] } = {},
): RunningProcess {
  const { args = [], ...rest } = options
  return startNode(script, ['--db', file, ...args], rest)
}

/** What a killed gateway was at can be taken over after a second. */
export const shortLease = { GATEWAY_LEASE_SECONDS: '1' }

/** The lines after the greeting. */
export function chatLines(gateway: RunningProcess): string[] {
  const [, chat = ''] = gateway.stdout.split('/help lists them.\n')
  return chat.split('\n').filter((line) => line !== '')
}

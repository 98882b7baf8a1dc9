import { randomUUID } from 'node:crypto'

import { InvalidInputError } from '../errors.ts'
import { flagOf } from '../repositories/input.ts'
import { callableOf, optionsOf } from './arguments.ts'
import type { ChatOptions } from './chat.ts'
import { checkResets } from './reset-options.ts'
import type { Recorder } from './turn.ts'
import { Waiting } from './waiting.ts'

/** Who shares a session; `gateways.md` §2.1 of Hermes' own gateway in the defaults. */
export interface GatewayOptions extends ChatOptions {
  /**
   * After how many seconds without a sign of life a process that works on a turn counts as dead, and
   * another may take the turn over. Default 10.
   */
  readonly leaseSeconds?: number
}

/** @throws {InvalidInputError} for options that cannot be. */
export function readGatewayOptions(options: GatewayOptions): {
  keys: ChatOptions
  recorder: Recorder
} {
  const { leaseSeconds = 10, ...keys } = optionsOf('options', options)
  if (!(typeof leaseSeconds === 'number' && leaseSeconds > 0 && leaseSeconds < Infinity)) {
    throw new InvalidInputError('leaseSeconds', 'must be a number above 0')
  }
  flagOf('groupSessionsPerUser', keys.groupSessionsPerUser, true)
  flagOf('threadSessionsPerUser', keys.threadSessionsPerUser, false)
  if (keys.expandWhatsAppAlias !== undefined) {
    callableOf('expandWhatsAppAlias', keys.expandWhatsAppAlias)
  }
  checkResets(keys.resets)
  const waiting = new Waiting(leaseSeconds)
  return { keys, recorder: { gatewayId: randomUUID(), leaseSeconds, waiting } }
}

import { callableOf, optionsOf } from './arguments.ts'
import type { ChatSource } from './chat-source.ts'
import type { Lane } from './lane.ts'
import { checkPolicy, type ResetPolicy, type ResetReason } from './reset-policy.ts'

/** Which policy a chat has: its platform's, else its chat type's, else the default, else none. */
export interface ResetOptions {
  readonly default?: ResetPolicy | undefined
  readonly byChatType?: Readonly<Record<string, ResetPolicy>> | undefined
  readonly byPlatform?: Readonly<Record<string, ResetPolicy>> | undefined
  /** False while the session must not be left, because something still works in it. Called inside a write. */
  readonly canReset?: ((lane: Lane) => boolean) | undefined
}

/** What became of the session the chat was in. */
export interface LaneReset {
  readonly reason: ResetReason
  /** The people should be told. */
  readonly notify: boolean
  /** Something had been said in it. */
  readonly hadActivity: boolean
}

export interface ChatResets {
  readonly policy: ResetPolicy
  readonly canReset: (lane: Lane) => boolean
}

const NONE: ResetPolicy = { mode: 'none' }
/** Programs, not people. */
const SILENT_PLATFORMS: readonly string[] = ['api_server', 'webhook']

/** @throws {InvalidInputError} for a policy that cannot be. */
export function checkResets(options: ResetOptions | undefined): void {
  const { default: byDefault, byChatType, byPlatform, canReset } = optionsOf('resets', options)
  if (canReset !== undefined) callableOf('resets.canReset', canReset)
  if (byDefault !== undefined) checkPolicy('resets.default', byDefault)
  for (const [field, policies] of Object.entries({ byChatType, byPlatform })) {
    for (const [name, policy] of Object.entries(optionsOf(`resets.${field}`, policies))) {
      checkPolicy(`resets.${field}.${name}`, policy)
    }
  }
}

export function resetsOf(
  { platform, chatType }: ChatSource,
  { default: byDefault, byChatType, byPlatform, canReset = () => true }: ResetOptions = {},
): ChatResets {
  const policy = ownOf(byPlatform, platform) ?? ownOf(byChatType, chatType) ?? byDefault ?? NONE
  return { policy, canReset }
}

export function mustNotify(
  { notify = true, silentPlatforms = SILENT_PLATFORMS }: ResetPolicy,
  platform: string,
  hadActivity: boolean,
): boolean {
  return notify && hadActivity && !silentPlatforms.includes(platform)
}

function ownOf(
  policies: Readonly<Record<string, ResetPolicy>> | undefined,
  name: string,
): ResetPolicy | undefined {
  return policies && Object.hasOwn(policies, name) ? policies[name] : undefined
}

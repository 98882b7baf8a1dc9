import type { ChatSource } from '../../src/gateway-adapter/index.ts'

/** A platform, as far as saying something there goes. */
export interface Channel {
  /** The platform and the bot's own id there, as in the sources of its messages. */
  readonly bot: { readonly platform: string; readonly account?: string }
  /** Parts that the platform takes as one message each. */
  split(text: string): string[]
  /** Sends one part; resolves with the platform's id of it. */
  send(source: ChatSource, text: string, nonce?: string): Promise<string>
  /** Whether the platform has certainly taken nothing. */
  isRefusal(error: unknown): boolean
  /** For how long the platform passes over a second message of the same nonce; 0 where it knows none. */
  readonly nonceSeconds: number
}

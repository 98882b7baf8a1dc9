import type { Store } from '../store.ts'
import { Gateway, type GatewayOptions } from './gateway.ts'

export { AgentsSession } from './agents-session.ts'
export type { AgentsSessionOptions, HistoryTransaction } from './agents-session.ts'
export { ChatState, type ChatLock, type ChatQueueEntry } from './chat-state.ts'
export {
  normalizeSource,
  type ChatId,
  type ChatSource,
  type ChatSourceInput,
  type ChatType,
} from './chat-source.ts'
export { parseCommand, type CommandOptions, type ParsedCommand } from './commands.ts'
export { discordInbound, discordInteractionSource, discordSource } from './discord.ts'
export type { DiscordOptions } from './discord.ts'
export { fromUIMessages, type UIMessageInput } from './from-ui-messages.ts'
export type { Gateway, GatewayOptions, Switched } from './gateway.ts'
export type { HistoryOptions } from './history.ts'
export type { Attachment, InboundIgnored, InboundMessage, InboundMigration } from './inbound.ts'
export { grammyStorage, keyvStore, telegrafSessionStore } from './kv.ts'
export type { GrammyStorage, KeyValueOptions, KeyvStore, TelegrafSessionStore } from './kv.ts'
export type { Lane } from './lane.ts'
export type { PendingOptions, PendingTurn } from './pending.ts'
export type { Scope } from './scope.ts'
export { isSharedSession, routeParts, sessionKey } from './session-key.ts'
export type { RouteParts, SessionKeyOptions } from './session-key.ts'
export type { SessionEntry } from './session-lookup.ts'
export type { Inbound, InboundText } from './take-inbound.ts'
export { telegramInbound, telegramSource, type TelegramOptions } from './telegram.ts'
export type { RecordedTurn, Turn } from './turn.ts'
export { toUIMessages, type UIMessage, type UIPart, type UIToolPart } from './ui-messages.ts'
export type { SessionUsage } from './usage.ts'

/**
 * The store as a chat gateway needs it. Adds our own tables to the file where they are missing; Hermes
 * does not notice them.
 * @throws {ReadonlyError | SchemaTooNewError} when they are missing and the store cannot write.
 */
export async function openGateway(store: Store, options: GatewayOptions = {}): Promise<Gateway> {
  await store.ensureOwnTables()
  return new Gateway(store, options)
}

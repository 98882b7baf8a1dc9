import { requireObject } from '../repositories/input.ts'
import type { Store } from '../store.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { Gateway } from './gateway.ts'

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
export type { Answer, AnswerOptions, Outcome, TakenMessage } from './answer.ts'
export type { Archive } from './archive.ts'
export type { CatchUpOptions, CaughtUp } from './catch-up.ts'
export type { Begin } from './begin-turn.ts'
export { parseCommand, type CommandOptions, type ParsedCommand } from './commands.ts'
export { discordInbound, discordInteractionSource, discordSource } from './discord.ts'
export type { DiscordOptions } from './discord.ts'
export { fromUIMessages, type UIMessageInput } from './from-ui-messages.ts'
export type { Gateway } from './gateway.ts'
export type { GatewayOptions } from './gateway-options.ts'
export { hermesV11, type HermesResetConfig } from './hermes-v11-resets.ts'
export type { HiddenMessage, HiddenReason } from './hidden-messages.ts'
export type { HistoryOptions } from './history.ts'
export type { IndexProblem } from './hermes-index.ts'
export { importSessions, type ImportedChat, type ImportOptions } from './import-sessions.ts'
export type { Attachment, InboundIgnored, InboundMessage, InboundMigration } from './inbound.ts'
export { grammyStorage, keyvStore, telegrafSessionStore } from './kv.ts'
export type { GrammyStorage, KeyValueOptions, KeyvStore, TelegrafSessionStore } from './kv.ts'
export type { Lane } from './lane.ts'
export type { EditOptions, Edited, Revision } from './message-edits.ts'
export type { ChatMigration } from './migrate-chat.ts'
export type { Outbox, SendOptions } from './outbox.ts'
export type { OutboxOptions, Reply } from './outbox-rows.ts'
export type { PendingOptions, PendingTurn } from './pending.ts'
export type { PlatformChat } from './platform-messages.ts'
export type { LaneReset, ResetOptions } from './reset-options.ts'
export type { ResetPolicy, ResetReason } from './reset-policy.ts'
export type { Forgotten } from './retention.ts'
export type { InScope, Listing, Scope } from './scope.ts'
export type { Switched, TitleOptions } from './session-commands.ts'
export { isSharedSession, routeParts, sessionKey } from './session-key.ts'
export type { RouteParts, SessionKeyOptions } from './session-key.ts'
export type { SessionEntry } from './session-lookup.ts'
export type { Inbound, InboundText } from './take-inbound.ts'
export { telegramInbound, telegramSource, type TelegramOptions } from './telegram.ts'
export { estimateTokens } from './token-estimate.ts'
export type { RecordedTurn, Turn, TurnMessage } from './turn.ts'
export type { DailyUsage } from './turn-usage.ts'
export type { Undone } from './undo.ts'
export { toUIMessages, type UIMessage, type UIPart, type UIToolPart } from './ui-messages.ts'
export type { SessionUsage } from './usage.ts'

/**
 * The store as a chat gateway needs it. Adds our own tables to the file where they are missing; Hermes
 * does not notice them.
 * @throws {ReadonlyError | SchemaTooNewError} when they are missing and the store cannot write.
 */
export async function openGateway(store: Store, options: GatewayOptions = {}): Promise<Gateway> {
  requireObject('store', store)
  await store.ensureOwnTables()
  return new Gateway(store, options)
}

// First, before anything loads the native driver.
import './runtime-check.ts'

export type { RetryOptions } from './database/busy-retry.ts'
export type { Synchronous } from './database/connection.ts'
export { defaultStatePath } from './database/files.ts'
export type { BackupOptions } from './database/backup.ts'
export type { FileProblem } from './database/check-file.ts'
export type { SlowQuery, StoreStatistics, WriteStatistics } from './database/statistics.ts'
export type { CheckOptions } from './repositories/maintenance.ts'
export type { RebuildOptions } from './repositories/index-rebuild.ts'
export type { Logger } from './database/logger.ts'
export {
  CannotOpenError,
  ConstraintError,
  DatabaseBusyError,
  DatabaseCorruptError,
  DatabaseError,
  FileMovedError,
  HistoryConflictError,
  InvalidInputError,
  InvalidQueryError,
  LeaseLostError,
  MigrationFailedError,
  MigrationRequiredError,
  NotADatabaseError,
  ReadWorkerError,
  WriteWorkerError,
  ReadonlyError,
  SchemaTooNewError,
  SchemaUnreadableError,
  SessionBoundError,
  SessionNotFoundError,
  StorageFullError,
  StorageIoError,
  StoreClosedError,
  StoreError,
  TitleConflictError,
  TitleTakenError,
  TransactionMisuseError,
  UnsupportedRuntimeError,
} from './errors.ts'
export type { MigrationEvent, OnProgress } from './migrations/runner.ts'
export type { SchemaState } from './migrations/schema-state.ts'
export { SCHEMA_VERSION } from './migrations/steps.ts'
export type { ChatMessage, ConversationOptions } from './repositories/conversation.ts'
export type { ExportedSession, ListedExport } from './repositories/export-repository.ts'
export type { AutoPruneOptions, AutoPruneResult } from './repositories/maintenance.ts'
export type { ListMessagesOptions } from './repositories/message-repository.ts'
export type { Message, NewMessage, ReplacementMessage } from './repositories/message-row.ts'
export type {
  AnchoredOptions,
  AnchoredView,
  AroundOptions,
  MessageWindow,
} from './repositories/message-views.ts'
export type {
  ModelUsage,
  SessionTokens,
  TopSessionsOptions,
  UsageOptions,
} from './repositories/analytics-repository.ts'
export type { NewSession } from './repositories/new-session.ts'
export { sanitizeTitle } from './repositories/sanitize-title.ts'
export type { SessionListEntry, SessionListOptions } from './repositories/session-list.ts'
export type { RecentSession, RecentSessionsOptions } from './repositories/session-recent.ts'
export type { DeleteOptions, PruneOptions } from './repositories/session-removal.ts'
export type { Session, SessionSummary } from './repositories/session-row.ts'
export type { Usage } from './repositories/session-usage.ts'
export type { Handoff } from './repositories/handoff-repository.ts'
export type { ContextMessage } from './repositories/search-context.ts'
export type { SearchHit } from './repositories/search-hit.ts'
export type { SearchNote } from './repositories/search-notes.ts'
export type {
  SearchResult,
  SessionMatch,
  SessionSearchOptions,
  SessionSearchResult,
} from './repositories/search-repository.ts'
export type {
  FindOptions,
  SearchFilter,
  SearchOptions,
  SearchOrder,
} from './repositories/search-request.ts'
export type { FoundSession } from './repositories/search-sessions.ts'
export type {
  NewTopicBinding,
  TopicBinding,
  TopicMode,
} from './repositories/telegram-topic-repository.ts'
export type { Database } from './schema/database.ts'
export type { TextRange } from './schema/search-matcher.ts'
export { openStore } from './open-store.ts'
export { Store } from './store.ts'
export type { OpenStoreOptions } from './open-options.ts'
export type { Repositories, StoreTransaction, TransactionOptions } from './store.ts'

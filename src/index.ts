// First, before anything loads the native driver.
import './runtime-check.ts'

export type { RetryOptions } from './database/busy-retry.ts'
export type { Synchronous } from './database/connection.ts'
export { defaultStatePath } from './database/files.ts'
export type { Logger } from './database/logger.ts'
export {
  CannotOpenError,
  ConstraintError,
  DatabaseBusyError,
  DatabaseCorruptError,
  DatabaseError,
  FileMovedError,
  InvalidInputError,
  MigrationFailedError,
  MigrationRequiredError,
  NotADatabaseError,
  ReadWorkerError,
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
export type { ChatMessage } from './repositories/conversation.ts'
export type { Usage } from './repositories/session-usage.ts'
export type { Handoff } from './repositories/handoff-repository.ts'
export type { ContextMessage } from './repositories/search-context.ts'
export type { SearchHit } from './repositories/search-repository.ts'
export type { SearchOptions } from './repositories/search-request.ts'
export type {
  NewTopicBinding,
  TopicBinding,
  TopicMode,
} from './repositories/telegram-topic-repository.ts'
export type { Database } from './schema/database.ts'
export { openStore, Store } from './store.ts'
export type { OpenStoreOptions, Repositories, StoreTransaction } from './store.ts'

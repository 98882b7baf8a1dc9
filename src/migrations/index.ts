export { hermesProvider, ownProvider } from './providers.ts'
export { migrate, type MigrationEvent, type OnProgress } from './runner.ts'
export { inspectSchema, type SchemaState } from './schema-state.ts'
export { SCHEMA_VERSION } from './steps.ts'

import type { Kysely } from 'kysely'

import * as base from './0001_base.ts'
import * as finishReason from './0002_finish_reason.ts'
import * as sessionTitle from './0003_session_title.ts'
import * as uniqueTitles from './0004_unique_titles.ts'
import * as usageAndBilling from './0005_usage_and_billing.ts'
import * as reasoning from './0006_reasoning.ts'
import * as reasoningContentAndMeta from './0007_reasoning_content_and_meta.ts'
import * as apiCallCount from './0008_api_call_count.ts'
import * as codexMessageItems from './0009_codex_message_items.ts'
import * as trigramIndex from './0010_trigram_index.ts'
import * as inlineIndexes from './0011_inline_indexes.ts'
import * as chatRoutes from './store_0001_chat_routes.ts'
import * as inbound from './store_0002_inbound.ts'
import * as keyValues from './store_0003_key_values.ts'
import * as agentItems from './store_0004_agent_items.ts'
import * as turns from './store_0005_turns.ts'
import * as revisions from './store_0007_revisions.ts'
import * as routeClocks from './store_0008_route_clocks.ts'
import * as chatAliases from './store_0009_chat_aliases.ts'

/** Rows indexed so far and rows in all. */
export type IndexReport = (done: number, total: number) => void | Promise<void>

export interface Step {
  up(db: Kysely<unknown>): Promise<void>
}

/** The schema version of the Python agent that this package mirrors. */
export const SCHEMA_VERSION = 11

export interface StepOptions {
  report?: IndexReport
  /** The run ends at version 11, whose step makes the indexes anew: earlier ones need not fill theirs. */
  throughTo11?: boolean
}

/** One step for each schema version, by file name; every one may be run again on its own result. */
export function hermesSteps(options: StepOptions = {}): Record<string, Step> {
  return {
    '0001_base': base,
    '0002_finish_reason': finishReason,
    '0003_session_title': sessionTitle,
    '0004_unique_titles': uniqueTitles,
    '0005_usage_and_billing': usageAndBilling,
    '0006_reasoning': reasoning,
    '0007_reasoning_content_and_meta': reasoningContentAndMeta,
    '0008_api_call_count': apiCallCount,
    '0009_codex_message_items': codexMessageItems,
    '0010_trigram_index': { up: (db) => trigramIndex.up(db, options.throughTo11) },
    '0011_inline_indexes': { up: (db) => inlineIndexes.up(db, options.report) },
  }
}

/** Our own tables, by file name; they never touch `schema_version`. */
export const ownSteps: Readonly<Record<string, Step>> = {
  store_0001_chat_routes: chatRoutes,
  store_0002_inbound: inbound,
  store_0003_key_values: keyValues,
  store_0004_agent_items: agentItems,
  store_0005_turns: turns,
  store_0007_revisions: revisions,
  store_0008_route_clocks: routeClocks,
  store_0009_chat_aliases: chatAliases,
}

/** `0007_reasoning…` → 7. */
export function versionOf(stepName: string): number {
  return Number(stepName.slice(0, 4))
}

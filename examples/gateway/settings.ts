import path from 'node:path'
import { parseArgs } from 'node:util'

import { defaultStatePath } from '../../src/index.ts'
import type { ModelSettings } from './responder.ts'

export interface BotSettings {
  readonly token: string
  readonly apiRoot?: string | undefined
}

export interface Settings {
  readonly help: boolean
  readonly path: string
  readonly telegram: BotSettings | undefined
  readonly discord: BotSettings | undefined
  readonly model: ModelSettings | undefined
  /** After how long another process takes over what this one was at when it died. */
  readonly leaseSeconds: number | undefined
}

export const HELP = `A chat bot whose memory is Hermes Agent's own session store.

Usage: npm start -- [--db PATH]

  --db PATH   the session store to use, for instance ~/.hermes/state.db
  --help      this text

Without --db it is $HERMES_HOME/state.db when HERMES_HOME is set, else data/state.db in this folder.

Environment:
  OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL   any endpoint that speaks chat completions
  TELEGRAM_BOT_TOKEN, TELEGRAM_API_ROOT           serve Telegram
  DISCORD_TOKEN, DISCORD_API_ROOT                 serve Discord
  GATEWAY_LEASE_SECONDS                           how long a process may stand still before another
                                                  one takes over what it was answering (10)

Without a bot token it serves this terminal; a script may pipe its messages in, one a line.
`

/** @throws {TypeError} with a message for the user when an argument is unknown. */
export function readSettings(args: string[], env: NodeJS.ProcessEnv): Settings {
  const { values } = parseArgs({
    args,
    options: { db: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  return {
    help: values.help ?? false,
    path: values.db ?? (env['HERMES_HOME'] ? defaultStatePath(env) : path.join('data', 'state.db')),
    telegram: botOf(env['TELEGRAM_BOT_TOKEN'], env['TELEGRAM_API_ROOT']),
    discord: botOf(env['DISCORD_TOKEN'], env['DISCORD_API_ROOT']),
    model: env['OPENAI_BASE_URL']
      ? {
          baseUrl: env['OPENAI_BASE_URL'],
          apiKey: env['OPENAI_API_KEY'] || undefined,
          model: env['OPENAI_MODEL'] || 'gpt-4o-mini',
        }
      : undefined,
    leaseSeconds: env['GATEWAY_LEASE_SECONDS'] ? Number(env['GATEWAY_LEASE_SECONDS']) : undefined,
  }
}

function botOf(token: string | undefined, apiRoot: string | undefined): BotSettings | undefined {
  return token ? { token, apiRoot: apiRoot?.replace(/\/+$/, '') || undefined } : undefined
}

import { setTimeout as sleep } from 'node:timers/promises'

import {
  openStore,
  SCHEMA_VERSION,
  StoreError,
  type MigrationEvent,
  type Store,
} from '../../src/index.ts'
import { openGateway, type Gateway } from '../../src/gateway-adapter/index.ts'
import { Conversations } from './conversation.ts'
import { describe, log } from './log.ts'
import { demoResponder, modelResponder, type Responder } from './responder.ts'
import { HELP, readSettings, type Settings } from './settings.ts'
import { serveTerminal } from './terminal.ts'

/** How long a platform that does not answer may keep a stopped gateway waiting. */
const GRACE_MS = 5000
const KEPT_DAYS = 90
const DAY_MS = 24 * 60 * 60 * 1000

process.exitCode = await main()
// A bot library may still be trying to reach its platform.
setTimeout(() => process.exit(), GRACE_MS).unref()

async function main(): Promise<number> {
  let settings: Settings
  try {
    settings = readSettings(process.argv.slice(2), process.env)
  } catch (error) {
    process.stderr.write(`${describe(error)}\n\n${HELP}`)
    return 2
  }
  if (settings.help) {
    process.stdout.write(HELP)
    return 0
  }
  try {
    await using store = await openStore({ path: settings.path, onProgress: showProgress })
    return await serve(store, settings)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    log('store', describe(error))
    return 1
  }
}

async function serve(store: Store, settings: Settings): Promise<number> {
  const stop = new AbortController()
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
  // Whoever read our output has gone: nobody can chat here any more, but bots can go on.
  process.stdout.on('error', (error) => {
    log('gateway', 'output', error)
    if (!settings.telegram && !settings.discord) stop.abort()
  })
  const { leaseSeconds } = settings
  const responder = settings.model ? modelResponder(settings.model) : demoResponder
  await greet(store, responder)
  if (store.schemaVersion > SCHEMA_VERSION) {
    log(
      'store',
      `a newer Hermes keeps this file (schema version ${store.schemaVersion}): it can be`,
    )
    log(
      'store',
      'read with hermes-store, but not written to. Chat in another file: npm start -- --db PATH',
    )
    return 1
  }
  const gateway = await openGateway(store, leaseSeconds === undefined ? {} : { leaseSeconds })
  const conversations = new Conversations(gateway, responder)
  const forgetting = forgetDaily(gateway, stop.signal)
  const serving = serveChannels(conversations, settings, stop.signal)
  let code = 0
  try {
    await Promise.race([stopped, Promise.all(serving)])
  } catch (error) {
    log('gateway', 'stopped', error)
    code = 1
  }
  stop.abort()
  const closing = Promise.allSettled([...serving, conversations.stop(), forgetting])
  const outOfTime = sleep(GRACE_MS, 'out of time', { ref: false })
  // Not even the store is closed, for that would wait as well. It is made for worse ends.
  if ((await Promise.race([closing, outOfTime])) === 'out of time') process.exit(code)
  return code
}

/** One promise a channel: it resolves at the channel's end and rejects when the channel fails for good. */
function serveChannels(
  conversations: Conversations,
  { telegram, discord }: Settings,
  signal: AbortSignal,
): Promise<void>[] {
  // The bot libraries are loaded when they are needed: a terminal chat starts in a fifth of the time.
  const channels: Promise<void>[] = []
  if (telegram) {
    channels.push(
      import('./telegram.ts').then((it) => it.serveTelegram(conversations, telegram, signal)),
    )
  }
  if (discord) {
    channels.push(
      import('./discord.ts').then((it) => it.serveDiscord(conversations, discord, signal)),
    )
  }
  // With bots, the end of the input (a service has none) must not end the program.
  return channels.length > 0 ? channels : [serveTerminal(conversations, signal)]
}

/** The ids of old messages; no platform delivers one again after that time. */
async function forgetDaily(gateway: Gateway, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await gateway.archive.forget({ olderThanDays: KEPT_DAYS })
    } catch (error) {
      log('store', 'old message ids are kept for another day', error)
    }
    await sleep(DAY_MS, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

async function greet(store: Store, responder: Responder): Promise<void> {
  const [sessions, messages] = await Promise.all([store.sessions.count(), store.messages.count()])
  process.stdout.write(
    [
      `A chat bot whose memory is Hermes Agent's own session store.`,
      `File: ${store.path}`,
      `Holds: ${sessions} sessions, ${messages} messages (schema version ${store.schemaVersion})`,
      `Answers: ${responder.description}`,
      `Commands: /help lists them.`,
      '',
    ].join('\n'),
  )
}

function showProgress(event: MigrationEvent): void {
  switch (event.kind) {
    case 'begin': {
      const { fromVersion, toVersion } = event
      log(
        'store',
        fromVersion === 0 ? 'making a new file' : `upgrading ${fromVersion} → ${toVersion}`,
      )
      break
    }
    case 'step':
      log('store', `step ${event.name}`)
      break
    case 'rows':
      log('store', `indexed ${event.done} of ${event.total} messages`)
      break
    case 'repair':
      log('store', 'adding what the file lacks')
      break
    case 'end':
      log('store', 'the file is up to date')
      break
  }
}

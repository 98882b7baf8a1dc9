import { openStore, StoreError, type MigrationEvent, type Store } from '../../src/index.ts'
import { openGateway } from '../../src/gateway-adapter/index.ts'
import { Conversations } from './conversation.ts'
import { describe, log } from './log.ts'
import { demoResponder, modelResponder, type Responder } from './responder.ts'
import { HELP, readSettings, type Settings } from './settings.ts'
import type { Channel } from './telegram.ts'
import { serveTerminal } from './terminal.ts'

process.exitCode = await main()

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
  const gateway = await openGateway(store)
  const responder = settings.model ? modelResponder(settings.model) : demoResponder
  const conversations = new Conversations(gateway, responder)
  await greet(store, responder)

  const stop = new AbortController()
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())

  const channels: Channel[] = []
  try {
    // The bot libraries are loaded when they are needed: a terminal chat starts in a fifth of the time.
    if (settings.telegram) {
      const { serveTelegram } = await import('./telegram.ts')
      channels.push(await serveTelegram(conversations, settings.telegram))
    }
    if (settings.discord) {
      const { serveDiscord } = await import('./discord.ts')
      channels.push(await serveDiscord(conversations, settings.discord))
    }
    const ends = channels.map(({ done }) => done)
    // With bots, the end of the input (a service has none) must not end the program.
    if (channels.length === 0) ends.push(serveTerminal(conversations, stop.signal))
    await Promise.race([stopped, Promise.all(ends)])
    return 0
  } catch (error) {
    log('gateway', 'stopped', error)
    return 1
  } finally {
    stop.abort()
    await Promise.allSettled(channels.map((channel) => channel.stop()))
    await conversations.stop()
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

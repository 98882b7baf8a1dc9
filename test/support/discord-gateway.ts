import type { Server } from 'node:http'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { Changes, PATIENCE_MS } from './changes.ts'
import type { DiscordWorld } from './discord-world.ts'

const Op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const
const Intent = {
  guilds: 1 << 0,
  guildMessages: 1 << 9,
  directMessages: 1 << 12,
  messageContent: 1 << 15,
}
const AUTHENTICATION_FAILED = 4004

interface Frame {
  op: number
  d: unknown
  s?: number
  t?: string
}

interface Session {
  id: string
  intents: number
  log: Frame[]
  socket: WebSocket | undefined
  rewind: number
}

/** The WebSocket side: sessions with numbered events that survive the connection and are replayed on RESUME. */
export class DiscordGateway {
  readonly #world: DiscordWorld
  readonly #token: string
  readonly #url: string
  readonly #sockets: WebSocketServer
  readonly #sessions = new Map<string, Session>()
  readonly #changes = new Changes()
  #resumed = 0

  constructor(world: DiscordWorld, token: string, server: Server, url: string) {
    this.#world = world
    this.#token = token
    this.#url = url
    this.#sockets = new WebSocketServer({ server })
    this.#sockets.on('connection', (socket) => this.#greet(socket))
  }

  /** Sends an event to every session that asked for it, connected or not. */
  dispatch(t: string, d: object): void {
    for (const session of this.#sessions.values()) this.#emit(session, t, d)
  }

  /** Resolves when a client is logged in and connected. */
  async waitForClient(timeoutMs: number = PATIENCE_MS): Promise<void> {
    await this.#changes.until(
      () => this.#connected()[0],
      timeoutMs,
      () => 'connected Discord client',
    )
  }

  /** Resolves when `count` resumptions took place since the start. */
  async waitForResume(count: number, timeoutMs: number = PATIENCE_MS): Promise<void> {
    await this.#changes.until(
      () => (this.#resumed >= count ? true : undefined),
      timeoutMs,
      () => `resumption ${count} (so far ${this.#resumed})`,
    )
  }

  /** Cuts every connection without a close frame; on RESUME, `replayLast` events the client has seen come again. */
  dropConnection(replayLast: number): void {
    for (const session of this.#connected()) {
      session.rewind = replayLast
      session.socket?.terminate()
      session.socket = undefined
    }
  }

  close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    return new Promise((resolve) => this.#sockets.close(() => resolve()))
  }

  #connected(): Session[] {
    return [...this.#sessions.values()].filter(({ socket }) => socket !== undefined)
  }

  #greet(socket: WebSocket): void {
    send(socket, { op: Op.hello, d: { heartbeat_interval: 41_250 } })
    socket.on('message', (data: Buffer) => {
      const { op, d } = JSON.parse(data.toString('utf8')) as Frame
      if (op === Op.heartbeat) send(socket, { op: Op.heartbeatAck, d: null })
      if (op === Op.identify) this.#identify(socket, d as { token: string; intents: number })
      if (op === Op.resume) this.#resume(socket, d as ResumeData)
    })
  }

  #identify(socket: WebSocket, { token, intents }: { token: string; intents: number }): void {
    if (token !== this.#token) return socket.close(AUTHENTICATION_FAILED, 'Authentication failed.')
    const id = this.#world.newId()
    const session: Session = { id, intents, log: [], socket: undefined, rewind: 0 }
    this.#sessions.set(id, session)
    this.#attach(session, socket)
    this.#emit(session, 'READY', {
      v: 10,
      user: this.#world.bot,
      session_id: id,
      resume_gateway_url: this.#url,
      application: { id: this.#world.bot.id, flags: 0 },
      shard: [0, 1],
      guilds: [{ id: this.#world.guildId, unavailable: true }],
    })
    this.#emit(session, 'GUILD_CREATE', this.#world.guild())
    this.#changes.notify()
  }

  #resume(socket: WebSocket, { token, session_id: id, seq }: ResumeData): void {
    const session = this.#sessions.get(id)
    if (token !== this.#token || session === undefined)
      return send(socket, { op: Op.invalidSession, d: false })
    this.#attach(session, socket)
    for (const frame of session.log) {
      if ((frame.s ?? 0) > seq - session.rewind) send(socket, frame)
    }
    session.rewind = 0
    this.#emit(session, 'RESUMED', {})
    this.#resumed++
    this.#changes.notify()
  }

  #attach(session: Session, socket: WebSocket): void {
    session.socket = socket
    socket.once('close', () => {
      if (session.socket === socket) session.socket = undefined
    })
  }

  #emit(session: Session, t: string, d: object): void {
    if ((requiredIntent(t, d) & ~session.intents) !== 0) return
    const seen = t.startsWith('MESSAGE_') ? this.#visible(session, d) : d
    const frame: Frame = { op: Op.dispatch, t, s: session.log.length + 1, d: seen }
    session.log.push(frame)
    if (session.socket !== undefined) send(session.socket, frame)
  }

  /** Without the MessageContent intent a bot sees other people's guild messages empty. */
  #visible(session: Session, d: object): object {
    const { author } = d as { author?: { id: string } }
    const isOpen = !('guild_id' in d) || !('content' in d) || author?.id === this.#world.bot.id
    return isOpen || (session.intents & Intent.messageContent) !== 0 ? d : { ...d, content: '' }
  }
}

interface ResumeData {
  token: string
  session_id: string
  seq: number
}

function requiredIntent(t: string, d: object): number {
  if (t.startsWith('MESSAGE_'))
    return 'guild_id' in d ? Intent.guildMessages : Intent.directMessages
  return t.startsWith('GUILD_') || t.startsWith('THREAD_') ? Intent.guilds : 0
}

function send(socket: WebSocket, frame: Frame): void {
  socket.send(JSON.stringify(frame))
}

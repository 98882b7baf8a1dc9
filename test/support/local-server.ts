import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LocalRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** JSON as sent; a form as an object of strings, files by name; `{}` when there was no body. */
  body: unknown
  /** Aborted when the client hung up before it was answered. */
  gone: AbortSignal
}

export interface LocalResponse {
  status: number
  /** Sent as JSON; absent for 204. */
  body?: unknown
}

export interface LocalServer {
  /** `http://127.0.0.1:PORT`, on a port the system chose. */
  origin: string
  server: Server
  close(): Promise<void>
}

/** Serves `answer` over HTTP on the loopback interface; what `answer` throws is reported to the client as a 500. */
export async function startLocalServer(
  answer: (request: LocalRequest) => Promise<LocalResponse> | LocalResponse,
): Promise<LocalServer> {
  const server = createServer((request, response) => {
    void serve(request, response, answer)
  })
  // An idle connection closed by us just as the client reuses it would look like a network failure.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Resolves when the client hangs up. */
export function untilGone(gone: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (gone.aborted) resolve()
  gone.addEventListener('abort', () => resolve(), { once: true })
  return promise
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: LocalRequest) => Promise<LocalResponse> | LocalResponse,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const url = new URL(request.url ?? '/', 'http://127.0.0.1')
  let reply: LocalResponse
  try {
    reply = await answer({
      method: request.method ?? 'GET',
      path: decodeURIComponent(url.pathname),
      query: url.searchParams,
      headers: request.headers,
      body: await readBody(request),
      gone: gone.signal,
    })
  } catch (error) {
    reply = { status: 500, body: { message: String(error) } }
  }
  if (gone.signal.aborted) return
  if (reply.body === undefined) {
    response.writeHead(reply.status).end()
    return
  }
  response.writeHead(reply.status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(reply.body))
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const bytes = Buffer.concat((await request.toArray()) as Buffer[])
  if (bytes.length === 0) return {}
  const type = request.headers['content-type'] ?? ''
  if (type.includes('json')) return JSON.parse(bytes.toString('utf8'))
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  return Object.fromEntries(
    [...form].map(([name, value]) => [name, typeof value === 'string' ? value : value.name]),
  )
}

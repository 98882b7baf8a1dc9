import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startNode, startProcess } from './child.ts'
import { startFakeChatCompletions } from './fake-chat-completions.ts'
import { jsonLines, pythonCreate, pythonWriter, runPython, skipWithoutPython } from './python.ts'
import type { PythonWrite } from './python.ts'

const V11_DDL = `
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, message_count INTEGER DEFAULT 0
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content TEXT, timestamp REAL NOT NULL
);
`

test('chat completions answer, count and fail in the shape of OpenAI', async () => {
  await using endpoint = await startFakeChatCompletions({ apiKey: 'k' })
  const ask = async (key: string) => {
    const response = await fetch(`${endpoint.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  const echoed = await ask('k')
  endpoint.reply = () => ({
    content: 'set',
    usage: { promptTokens: 9, completionTokens: 2, cachedTokens: 4 },
  })
  const set = await ask('k')
  endpoint.reply = () => ({ status: 503, content: 'overloaded' })
  const failed = await ask('k')
  const denied = await ask('wrong')

  assert.match(JSON.stringify(echoed.body), /echo: hi/)
  assert.deepEqual(set.body['usage'], {
    prompt_tokens: 9,
    completion_tokens: 2,
    total_tokens: 11,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 0 },
  })
  assert.equal(failed.status, 503)
  assert.deepEqual(failed.body['error'], {
    message: 'overloaded',
    type: 'server_error',
    param: null,
    code: null,
  })
  assert.equal(denied.status, 401)
  assert.equal(endpoint.requests.length, 3)
})

test('a child process is written to, read from and killed', async () => {
  const script = `process.stdin.on('data', (d) => console.log('got ' + d)).on('end', () => console.log('end'))`
  await using child = startProcess(process.execPath, ['-e', script])
  await using stuck = startProcess(process.execPath, [
    '-e',
    'setInterval(() => {}, 1000); console.log("up")',
  ])

  child.write('one')
  await child.waitForOutput(/got \w+/)
  child.write('two')
  const second = await child.waitForOutput(/got \w+/)
  child.end()
  await stuck.waitForOutput('up')

  assert.equal(second, 'got two')
  assert.deepEqual(await child.exited, { code: 0, signal: null })
  assert.deepEqual(await stuck.kill('SIGKILL'), { code: null, signal: 'SIGKILL' })
})

test('waiting for output ends with the process, and a missing program is an exit', async () => {
  await using child = startNode('no-such-script.ts')
  await using missing = startProcess('no-such-program', [])

  await assert.rejects(child.waitForOutput('never'), /exited .* it printed:[^]*no-such-script/)
  assert.notEqual((await missing.exited).code, 0)
  assert.match(missing.stderr, /ENOENT/)
})

test('Python writers share a file and lose nothing', { skip: skipWithoutPython() }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'fakes-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'state.db')
  await runPython(pythonCreate, [path], { input: V11_DDL })

  const outputs = await Promise.all([
    runPython(pythonWriter, [path, 'a', '60']),
    runPython(pythonWriter, [path, 'b', '60', '1']),
  ])

  const written = outputs.flatMap((output) => jsonLines<PythonWrite>(output))
  const counts = await runPython(
    'import json, sqlite3, sys\n' +
      'conn = sqlite3.connect(sys.argv[1])\n' +
      'rows = conn.execute("SELECT id, message_count FROM sessions ORDER BY id").fetchall()\n' +
      'total = conn.execute("SELECT count(*) FROM messages").fetchone()[0]\n' +
      'print(json.dumps([rows, total]))',
    [path],
  )
  assert.equal(new Set(written.map(({ id }) => id)).size, 120)
  assert.deepEqual(JSON.parse(counts), [
    [
      ['a', 60],
      ['b', 60],
    ],
    120,
  ])
})

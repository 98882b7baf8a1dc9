import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { openStore } from '../../src/index.ts'
import { startFakeChatCompletions } from '../support/fake-chat-completions.ts'
import { startLocalServer } from '../support/local-server.ts'
import { tempFolder } from '../support/temp-store.ts'
import { chatLines, startGateway } from './start-gateway.ts'

test('a model gets the whole conversation, and what it used is stored', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using model = await startFakeChatCompletions({ apiKey: 'k' })
  model.reply = () => ({
    content: 'Noted.',
    usage: { promptTokens: 100, completionTokens: 7, cachedTokens: 40 },
  })

  await using gateway = startGateway(file, {
    env: { OPENAI_BASE_URL: `${model.baseUrl}/`, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm-1' },
    input: 'one\ntwo\n',
  })
  assert.equal((await gateway.exited).code, 0, gateway.stderr)

  assert.deepEqual(chatLines(gateway), ['Noted.', 'Noted.'])
  assert.deepEqual(model.requests[1]?.body, {
    model: 'm-1',
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'two' },
    ],
  })
  await using store = await openStore({ path: file })
  const session = (await store.sessions.list())[0]
  assert.deepEqual(
    [session?.model, session?.inputTokens, session?.cacheReadTokens, session?.outputTokens],
    ['m-1', 120, 80, 14],
  )
  assert.equal(session?.apiCallCount, 2)
})

test('when the model fails the user is told, the operator reads why, and the message is kept', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await using model = await startFakeChatCompletions()
  model.reply = ({ messages }) =>
    messages.at(-1)?.content === 'one' ? { status: 500, content: 'overloaded' } : { content: 'ok' }

  await using gateway = startGateway(file, {
    env: { OPENAI_BASE_URL: model.baseUrl },
    input: 'one\ntwo\n',
  })
  assert.equal((await gateway.exited).code, 0)

  assert.match(chatLines(gateway)[0] ?? '', /could not answer .*500: overloaded.*is kept/)
  assert.match(gateway.stderr, /\[local\] no answer in session .*overloaded/)
  assert.deepEqual(
    model.requests[1]?.body.messages.map(({ content }) => content),
    ['one', 'two'],
  )
})

const [figures, choice] = [{ prompt_tokens: 7 }, { message: { content: 'Fine.' } }]

for (const [what, body, tokens] of [
  ['figures that are none', { usage: { prompt_tokens: 1.5, completion_tokens: null } }, 0],
  ['a negative figure', { usage: { prompt_tokens: -5, completion_tokens: 3 } }, 3],
  [
    'more cached than it read',
    { usage: { ...figures, prompt_tokens_details: { cached_tokens: 9 } } },
    9,
  ],
  ['a name that is none', { model: 5, usage: figures }, 7],
  ['a reason that is none', { choices: [{ ...choice, finish_reason: 5 }], usage: figures }, 7],
] as const) {
  test(`an answer of a model that sends ${what} arrives`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using model = await startModel({ choices: [choice], ...body })

    await using gateway = startGateway(file, {
      env: { OPENAI_BASE_URL: model.origin },
      input: 'one\n/usage\n',
    })
    await gateway.exited

    const [answer, , usage = ''] = chatLines(gateway)
    assert.equal(answer, 'Fine.', gateway.stderr)
    assert.match(usage, new RegExp(`^${tokens} tokens`))
  })
}

for (const [what, body, told] of [
  ['null', null, /the model sent no text/],
  ['a list for a text', { choices: [{ message: { content: ['x'] } }] }, /the model sent no text/],
  ['white space', { choices: [{ message: { content: ' \n' } }] }, /the model sent no text/],
  [
    'a refusal',
    { choices: [{ message: { content: null, refusal: 'Never.' } }] },
    /refuses: Never\./,
  ],
  ['an error as a success', { error: { message: 'no quota\x1b[2J\nleft' } }, /said: no quota/],
] as const) {
  test(`when a model sends ${what} the user is told, and the operator in one line`, async (t) => {
    const file = path.join(tempFolder(t), 'state.db')
    await using model = await startModel(body)

    await using gateway = startGateway(file, {
      env: { OPENAI_BASE_URL: model.origin },
      input: 'one\n',
    })
    await gateway.exited

    assert.match(chatLines(gateway)[0] ?? '', told)
    const [, line = ''] = gateway.stderr.split('up to date\n')
    assert.match(line, /^\[local\] no answer in session [^\0-\x1f]+\n$/)
    assert.match(line, told)
  })
}

/** An endpoint that answers everything with one body. */
async function startModel(body: unknown) {
  const server = await startLocalServer(() => ({ status: 200, body }))
  return { origin: server.origin, [Symbol.asyncDispose]: () => server.close() }
}

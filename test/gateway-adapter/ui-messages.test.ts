import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { convertToModelMessages, validateUIMessages, type UIMessage } from 'ai'
import * as fc from 'fast-check'

import { fromUIMessages } from '../../src/gateway-adapter/from-ui-messages.ts'
import { toUIMessages } from '../../src/gateway-adapter/ui-messages.ts'
import type { Message, NewMessage } from '../../src/index.ts'
import { openTempStore } from '../support/temp-store.ts'

// Checked by the compiler: they are what AI SDK declares.
const asAiDeclares = (messages: ReturnType<typeof toUIMessages>): UIMessage[] => messages
const fromAi = (messages: UIMessage[]): NewMessage[] => fromUIMessages(messages)

/** The messages as the store gives them back. */
async function stored(t: TestContext, messages: readonly NewMessage[]): Promise<Message[]> {
  const store = await openTempStore(t)
  await store.sessions.create({ id: 's1', source: 'web' })
  await store.messages.appendMany('s1', messages)
  return store.messages.list('s1')
}

function call(id: string, input: string): object {
  return { id, type: 'function', function: { name: 'look', arguments: input } }
}

const answered: NewMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Cat or dog?' },
  {
    role: 'assistant',
    content: 'Let me look.',
    reasoning: 'Two pictures.',
    toolCalls: [call('c:1', '{"at":"a.png"}'), call('c:2', '{"at":"b.png"}')],
  },
  { role: 'tool', toolCallId: 'c:1', toolName: 'look', content: 'a cat' },
  { role: 'tool', toolCallId: 'c:2', toolName: 'look', content: '{"animal":"dog"}' },
  { role: 'assistant', content: 'A cat and a dog.' },
  { role: 'user', content: 'Thanks' },
]

test('an answer with its tool calls is one message, which AI SDK takes', async (t) => {
  const ui = toUIMessages(await stored(t, answered))

  const valid = await validateUIMessages({ messages: ui })
  assert.deepEqual(valid, ui)
  assert.deepEqual(
    ui.map(({ id, role, parts }) => [id, role, parts.map(({ type }) => type)]),
    [
      ['1', 'system', ['text']],
      ['2', 'user', ['text']],
      [
        '3',
        'assistant',
        ['step-start', 'reasoning', 'text', 'dynamic-tool', 'dynamic-tool', 'step-start', 'text'],
      ],
      ['7', 'user', ['text']],
    ],
  )
  const model = await convertToModelMessages(asAiDeclares(ui))
  assert.deepEqual(
    model.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool', 'assistant', 'user'],
  )
  const results = model.flatMap(({ role, content }) => (role === 'tool' ? content : []))
  assert.deepEqual(
    results.map((result) => result.type === 'tool-result' && result.output),
    [
      { type: 'text', value: 'a cat' },
      { type: 'json', value: { animal: 'dog' } },
    ],
  )
})

test('messages come back from AI SDK as they went', async (t) => {
  const messages = await stored(t, answered)

  const again = await stored(
    t,
    fromAi(await validateUIMessages({ messages: toUIMessages(messages) })),
  )

  assert.deepEqual(again.map(bare), messages.map(bare))
})

test('pictures and files are file parts', async (t) => {
  const parts = [
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
  ]
  const messages = await stored(t, [{ role: 'user', content: parts }])

  const [ui] = await validateUIMessages({ messages: toUIMessages(messages) })

  assert.deepEqual(ui?.parts, [
    { type: 'text', text: 'What is it?' },
    { type: 'file', mediaType: 'image', url: 'https://x.test/a.png' },
    { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' },
    {
      type: 'file',
      mediaType: 'application/pdf',
      url: 'data:application/pdf;base64,AA==',
      filename: 'a.pdf',
    },
  ])
  assert.deepEqual(fromAi(ui ? [ui] : []), [{ role: 'user', content: parts }])
})

test('what AI SDK made is stored: static tools, errors, denials, unfinished calls, steering', () => {
  const tool = { type: 'tool-look', toolCallId: 'c', input: { at: 1 } } as const
  const answer = {
    id: 'm',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'source-url', sourceId: 's', url: 'https://x.test' },
      { ...tool, toolCallId: 'ok', state: 'output-available', output: { n: 1 } },
      { ...tool, toolCallId: 'failed', state: 'output-error', errorText: 'no such file' },
      {
        ...tool,
        toolCallId: 'no',
        state: 'output-denied',
        approval: { id: 'a', approved: false, reason: 'never' },
      },
      { ...tool, toolCallId: 'open', state: 'input-available' },
      { type: 'tool-look', toolCallId: 'half', state: 'input-streaming', input: undefined },
      { type: 'steering-message', id: 'x', parts: [{ type: 'text', text: 'wait' }] },
      { type: 'step-start' },
      { type: 'text', text: 'done' },
    ],
  } as UIMessage

  const messages = fromUIMessages([answer])

  assert.deepEqual(messages, [
    {
      role: 'assistant',
      content: '',
      reasoning: null,
      toolCalls: ['ok', 'failed', 'no', 'open'].map((id) => call(id, '{"at":1}')),
    },
    { role: 'tool', toolCallId: 'ok', toolName: 'look', content: '{"n":1}' },
    { role: 'tool', toolCallId: 'failed', toolName: 'look', content: 'no such file' },
    { role: 'tool', toolCallId: 'no', toolName: 'look', content: 'never' },
    { role: 'user', content: 'wait' },
    { role: 'assistant', content: 'done', reasoning: null, toolCalls: null },
  ])
})

test('broken and odd rows are shown as far as they go, and AI SDK takes them', async (t) => {
  const messages = await stored(t, [
    { role: 'session_meta', content: '{}' },
    { role: 'tool', toolCallId: 'lost', content: 'a result whose call was cut off' },
    { role: 'user', content: '9007199254740993 \0 \ud800 🗝' },
    { role: 'assistant', content: null, toolCalls: [call('c', '{broken'), { id: 7 }, null] },
  ])

  const ui = await validateUIMessages({ messages: toUIMessages(messages) })

  assert.deepEqual(
    ui.map(({ role, parts }) => [role, parts.map(({ type }) => type)]),
    [
      ['assistant', ['dynamic-tool']],
      ['user', ['text']],
      ['assistant', ['step-start', 'dynamic-tool']],
    ],
  )
  assert.equal((await convertToModelMessages(ui)).length, 4)
})

test('any history of texts and answered calls goes through AI SDK and back unchanged', async () => {
  const text = fc.string({ unit: 'binary', minLength: 1 }).map((said) => `.${said}.`)
  const json = fc.jsonValue().map((value) => JSON.stringify(value))
  const step = fc
    .tuple(text, fc.option(text), fc.array(fc.tuple(json, text), { maxLength: 3 }))
    .map(([content, reasoning, calls]): NewMessage[] => {
      const ids = calls.map((_, index) => `call:${index}`)
      return [
        {
          role: 'assistant',
          content,
          reasoning,
          toolCalls:
            calls.length > 0 ? calls.map(([input], index) => call(ids[index]!, input)) : null,
        },
        ...calls.map(([, output], index) => ({
          role: 'tool',
          toolCallId: ids[index]!,
          toolName: 'look',
          content: output,
        })),
      ]
    })
  const question = text.map((content): NewMessage[] => [{ role: 'user', content }])
  let number = 0
  const history = fc.array(fc.oneof(question, step), { minLength: 1, maxLength: 6 })

  await fc.assert(
    fc.asyncProperty(history, async (turns) => {
      const messages = turns.flat().map((message) => withIds(message, (number += 1)))

      const ui = await validateUIMessages({ messages: toUIMessages(messages) })

      const again = fromAi(ui).map((message) => withIds(message, (number += 1)))
      assert.deepEqual(again.map(bare), messages.map(bare))
    }),
  )
})

/** A message as the store gives it, without having been there. */
function withIds(message: NewMessage, id: number): Message {
  return {
    id,
    sessionId: 's1',
    toolCallId: null,
    toolCalls: null,
    toolName: null,
    timestamp: 1,
    tokenCount: null,
    finishReason: null,
    reasoning: null,
    reasoningContent: null,
    reasoningDetails: null,
    codexReasoningItems: null,
    codexMessageItems: null,
    ...message,
  } as Message
}

function bare({ role, content, toolCallId, toolCalls, toolName, reasoning }: Message): object {
  return { role, content, toolCallId, toolCalls, toolName, reasoning }
}

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { Agent, Runner, tool, Usage } from '@openai/agents-core'
import type { AgentInputItem, Model, ModelRequest, ModelResponse } from '@openai/agents-core'
import { z } from 'zod'

import { AgentsSession } from '../../src/gateway-adapter/agents-session.ts'
import { openStore } from '../../src/index.ts'
import { tempFolder } from '../support/temp-store.ts'

/** Answers what it is told to, and keeps what it was asked. */
class ScriptedModel implements Model {
  readonly asked: AgentInputItem[][] = []
  readonly #answers: ModelResponse['output'][]

  constructor(answers: ModelResponse['output'][]) {
    this.#answers = answers
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.asked.push(typeof input === 'string' ? [{ role: 'user', content: input }] : input)
    return { usage: new Usage(), output: this.#answers.shift() ?? [] }
  }

  // eslint-disable-next-line require-yield
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('not streamed')
  }
}

function said(text: string): ModelResponse['output'][number] {
  const content = [{ type: 'output_text' as const, text }]
  return { type: 'message', role: 'assistant', status: 'completed', content }
}

const add = tool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
})

async function runTurn(file: string, input: string, answers: ModelResponse['output'][]) {
  await using store = await openStore({ path: file })
  const model = new ScriptedModel(answers)
  const runner = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
  const agent = new Agent({ name: 'Sums', instructions: 'Add.', tools: [add] })
  const session = new AgentsSession<AgentInputItem>(store, { sessionId: 's1', source: 'agents' })
  const { finalOutput } = await runner.run(agent, input, { session })
  return { finalOutput, model, items: await session.getItems() }
}

test("the runner's second turn, on the file opened anew, knows the first with its tool calls", async (t) => {
  const file = path.join(tempFolder(t), 'state.db')

  const first = await runTurn(file, 'What is 40 + 2?', [
    [
      { type: 'reasoning', id: 'rs_1', content: [{ type: 'input_text', text: 'A sum.' }] },
      {
        type: 'function_call',
        id: 'fc_1',
        callId: 'call_1',
        name: 'add',
        status: 'completed',
        arguments: '{"a":40,"b":2}',
        providerData: { itemId: '9007199254740993' },
      },
    ],
    [said('42')],
  ])
  const second = await runTurn(file, 'Sure?', [[said('Yes.')]])

  assert.equal(first.finalOutput, '42')
  assert.equal(second.finalOutput, 'Yes.')
  const [asked] = second.model.asked
  assert.deepEqual(
    asked?.map((item) => ('role' in item ? item.role : item.type)),
    ['user', 'reasoning', 'function_call', 'function_call_result', 'assistant', 'user'],
  )
  assert.deepEqual(second.items.slice(0, first.items.length), first.items)
  await using store = await openStore({ path: file })
  const conversation = await store.messages.conversation('s1')
  assert.deepEqual(
    conversation.map(({ role, content }) => [role, content]),
    [
      ['user', 'What is 40 + 2?'],
      ['assistant', ''],
      ['tool', '42'],
      ['assistant', '42'],
      ['user', 'Sure?'],
      ['assistant', 'Yes.'],
    ],
  )
})

test('the runner reads what Hermes has added between two turns', async (t) => {
  const file = path.join(tempFolder(t), 'state.db')
  await runTurn(file, 'Hello', [[said('Hi.')]])
  {
    await using store = await openStore({ path: file })
    await store.messages.appendMany('s1', [
      { role: 'user', content: 'I am Ada' },
      { role: 'assistant', content: 'Noted.' },
    ])
  }

  const { model } = await runTurn(file, 'Who am I?', [[said('Ada.')]])

  const texts = JSON.stringify(model.asked[0])
  for (const text of ['Hello', 'Hi.', 'I am Ada', 'Noted.', 'Who am I?']) {
    assert.ok(texts.includes(text), text)
  }
})

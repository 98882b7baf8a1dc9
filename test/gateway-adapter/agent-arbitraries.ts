import type { AgentInputItem } from '@openai/agents-core'
import * as fc from 'fast-check'

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', '\0nul', '\ud800', '🗝 key', '<memory-context>', '{"a":1}'),
)
const callId = fc.constantFrom('call_1', 'call:2', '9007199254740993')
const providerData = fc.option(
  fc.dictionary(fc.constantFrom('a', '$bytes', '__proto__', '$$bytes'), fc.jsonValue(), {
    maxKeys: 2,
  }),
  { nil: undefined },
)
const bytes = fc.uint8Array({ maxLength: 8 }).map((data) => Uint8Array.from(data))

const shapes: fc.Arbitrary<object>[] = [
  fc.record({ role: fc.constant('user'), content: text }),
  fc.record({
    type: fc.constant('message'),
    role: fc.constant('user'),
    content: fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('input_text'), text }),
        fc.record({ type: fc.constant('input_image'), image: fc.constant('https://x.test/i.png') }),
        fc.record({ type: fc.constant('input_file'), file: fc.record({ id: text }) }),
      ),
      { maxLength: 3 },
    ),
  }),
  fc.record({ role: fc.constant('system'), content: text }),
  fc.record({
    type: fc.constant('message'),
    role: fc.constant('assistant'),
    status: fc.constantFrom('completed', 'incomplete'),
    content: fc.array(fc.record({ type: fc.constant('output_text'), text }), { maxLength: 2 }),
  }),
  fc.record({
    type: fc.constant('reasoning'),
    id: text,
    content: fc.array(fc.record({ type: fc.constant('input_text'), text }), { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('function_call'), callId, name: text, arguments: text }),
  fc.record({
    type: fc.constant('function_call_result'),
    callId,
    name: text,
    status: fc.constant('completed'),
    output: fc.oneof(
      text,
      fc.record({ type: fc.constant('text'), text }),
      fc.record({ type: fc.constant('image'), image: fc.record({ data: bytes }) }),
    ),
  }),
  fc.record({ type: fc.constant('hosted_tool_call'), name: text, output: text }),
  fc.record({ type: fc.constant('compaction'), encrypted_content: text }),
  fc.record({ type: fc.constant('unknown') }),
]

/** An item of any kind the protocol has a place for, by the protocol's own rules. */
export const agentItem: fc.Arbitrary<AgentInputItem> = fc
  .tuple(fc.oneof(...shapes), providerData)
  .map(([item, data]) => (data ? { ...item, providerData: data } : item) as AgentInputItem)

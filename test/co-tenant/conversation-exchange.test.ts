import assert from 'node:assert/strict'
import path from 'node:path'
import test from 'node:test'

import * as fc from 'fast-check'

import { openStore, type ChatMessage } from '../../src/index.ts'
import { runPython, skipWithoutPython } from '../support/python.ts'
import { tempFolder } from '../support/temp-store.ts'

const skip = skipWithoutPython()

/** Prints the conversation of a session as a chat-completions list, by the rules of spec §12. */
const reader = `
import json, sqlite3, sys
conn = sqlite3.connect(sys.argv[1])
conn.row_factory = sqlite3.Row
messages = []
for row in conn.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", (sys.argv[2],)):
    content = row["content"]
    if content is not None and content.startswith("\\x00json:"):
        content = json.loads(content[6:])
    elif content is not None and row["role"] in ("user", "assistant"):
        content = content.strip()
    message = {"role": row["role"], "content": content}
    for name in ("tool_call_id", "tool_name"):
        if row[name]:
            message[name] = row[name]
    if row["tool_calls"]:
        message["tool_calls"] = json.loads(row["tool_calls"])
    if row["role"] == "assistant":
        for name in ("finish_reason", "reasoning"):
            if row[name]:
                message[name] = row[name]
        if row["reasoning_content"] is not None:
            message["reasoning_content"] = row["reasoning_content"]
        for name in ("reasoning_details", "codex_reasoning_items", "codex_message_items"):
            if row[name]:
                message[name] = json.loads(row[name])
    messages.append(message)
print(json.dumps(messages))
`

/** Stores the chat-completions messages on standard input as the agent does, with Python's own JSON. */
const writer = `
import json, sqlite3, sys
conn = sqlite3.connect(sys.argv[1])
columns = ["role", "content", "tool_call_id", "tool_name", "tool_calls", "finish_reason", "reasoning",
    "reasoning_content", "reasoning_details", "codex_reasoning_items", "codex_message_items"]
encoded = {"tool_calls", "reasoning_details", "codex_reasoning_items", "codex_message_items"}
for message in json.load(sys.stdin):
    row = []
    for name in columns:
        value = message.get(name)
        if name in encoded:
            value = json.dumps(value) if value else None
        elif name == "content" and isinstance(value, (list, dict)):
            value = "\\x00json:" + json.dumps(value)
        row.append(value)
    conn.execute(
        "INSERT INTO messages (session_id, timestamp, " + ", ".join(columns) + ") VALUES (?, 1, "
        + ", ".join("?" * len(columns)) + ")", [sys.argv[2]] + row)
conn.commit()
`

const words = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !/[<[]|^\0/.test(text))
const word = words.filter((text) => text !== '')
const json = fc.oneof(
  fc.array(fc.jsonValue({ stringUnit: 'binary' }), { minLength: 1, maxLength: 3 }),
  fc.dictionary(words, fc.jsonValue({ stringUnit: 'binary' }), { minKeys: 1, maxKeys: 3 }),
)

const chatMessage = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
    content: fc.oneof(words, json, fc.constant(null)),
    tool_call_id: word,
    tool_name: word,
    tool_calls: json,
    finish_reason: word,
    reasoning: word,
    reasoning_content: words,
    reasoning_details: json,
    codex_reasoning_items: json,
    codex_message_items: json,
  },
  { requiredKeys: ['role', 'content'] },
)

function samples(seed: number): ChatMessage[] {
  return fc.sample(chatMessage, { seed, numRuns: 300 }) as ChatMessage[]
}

test('plain Python reads the conversation that we wrote', { skip }, async (t) => {
  await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })
  await store.sessions.ensure('s')
  const chat = samples(20_260_518)

  await store.messages.appendMany('s', chat.map(toNewMessage))

  const read = JSON.parse(await runPython(reader, [store.path, 's'])) as unknown
  assert.deepEqual(read, asJson(chat.map(replayed)))
  assert.deepEqual(asJson(await store.messages.conversation('s')), read)
})

test('we read the conversation that plain Python wrote', { skip }, async (t) => {
  await using store = await openStore({ path: path.join(tempFolder(t), 'state.db') })
  await store.sessions.ensure('s')
  const chat = samples(20_260_519)

  await runPython(writer, [store.path, 's'], { input: JSON.stringify(chat) })

  assert.deepEqual(asJson(await store.messages.conversation('s')), asJson(chat.map(replayed)))
})

function toNewMessage(message: ChatMessage) {
  return {
    role: message.role,
    content: message.content,
    toolCallId: message.tool_call_id ?? null,
    toolName: message.tool_name ?? null,
    toolCalls: message.tool_calls,
    finishReason: message.finish_reason ?? null,
    reasoning: message.reasoning ?? null,
    reasoningContent: message.reasoning_content ?? null,
    reasoningDetails: message.reasoning_details,
    codexReasoningItems: message.codex_reasoning_items,
    codexMessageItems: message.codex_message_items,
  }
}

/** What comes back of a message: only an assistant has reasoning, and text from a person is trimmed. */
function replayed(message: ChatMessage): ChatMessage {
  const { role, content, tool_call_id, tool_name, tool_calls } = message
  if (role === 'assistant') return { ...message, content: trimmed(message) }
  return {
    role,
    content: role === 'user' ? trimmed(message) : content,
    ...(tool_call_id !== undefined && { tool_call_id }),
    ...(tool_name !== undefined && { tool_name }),
    ...(tool_calls !== undefined && { tool_calls }),
  }
}

function trimmed({ content }: ChatMessage): ChatMessage['content'] {
  if (typeof content !== 'string') return content
  const blank = String.raw`[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`
  return content.replace(new RegExp(`^${blank}+`), '').replace(new RegExp(`${blank}+$`), '')
}

/** JSON has no -0 and no undefined. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

import type { AgentInputItem } from '@openai/agents-core'

import { AgentsSession } from '../../src/gateway-adapter/agents-session.ts'
import type { Store } from '../../src/index.ts'

export function user(text: string): AgentInputItem {
  return { type: 'message', role: 'user', content: text }
}

export function said(text: string): AgentInputItem {
  const content = [{ type: 'output_text' as const, text }]
  return { type: 'message', role: 'assistant', status: 'completed', content }
}

export function call(callId: string): AgentInputItem {
  return { type: 'function_call', callId, name: 'add', arguments: '{"a":1}', status: 'completed' }
}

export function result(callId: string, text: string): AgentInputItem {
  const output = { type: 'text' as const, text }
  return { type: 'function_call_result', callId, name: 'add', status: 'completed', output }
}

export function sessionOn(store: Store, sessionId?: string): AgentsSession<AgentInputItem> {
  return new AgentsSession(store, { source: 'agents', sessionId })
}

const JSON_COLUMNS = new Set([
  'tool_calls',
  'reasoning_details',
  'codex_reasoning_items',
  'codex_message_items',
  'model_config',
])

/** A row with its JSON parsed: ours keeps other scripts readable, the agent escapes them (DESIGN §5). */
export function withParsedJson(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (typeof value !== 'string') return [column, value]
      if (column === 'content' && value.startsWith('\0json:')) {
        return [column, { structured: parsed(value.slice('\0json:'.length)) }]
      }
      return [column, JSON_COLUMNS.has(column) ? parsed(value) : value]
    }),
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What a message adds to `tool_call_count`: the length of a list, 1 for anything else but null (spec §11). */
export function countToolCalls(value: unknown): number {
  if (value === null || value === undefined) return 0
  return Array.isArray(value) ? value.length : 1
}

/** Our fields under the names the agent has for them: `parentSessionId` → `parent_session_id`. */
export function toAgentRow(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name === 'lineageRootId'
        ? '_lineage_root_id'
        : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      field,
    ]),
  )
}

/** The agent's keywords under our names: `order_by_last_active` → `orderByLastActive`. */
export function toOurNames(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      field,
    ]),
  )
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/** The cases recorded from the agent under that name in `test/golden`. */
export function readGolden(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8'))
}

/**
 * Compares every case; `known` names, with the reason, those in which we differ on purpose. A case
 * that begins or ceases to differ fails.
 */
export function assertGolden<T>(
  cases: readonly T[],
  nameOf: (recorded: T) => string,
  compare: (recorded: T) => void,
  known: Readonly<Record<string, string>> = {},
): void {
  assert.notEqual(cases.length, 0)
  const problems: string[] = []
  const differing = new Set<string>()
  for (const recorded of cases) {
    try {
      compare(recorded)
    } catch (error) {
      differing.add(nameOf(recorded))
      if (!(nameOf(recorded) in known)) problems.push(`${nameOf(recorded)}: ${String(error)}`)
    }
  }
  for (const name of Object.keys(known)) {
    if (!differing.has(name)) problems.push(`${name}: no longer differs`)
  }
  assert.deepEqual(problems, [])
}

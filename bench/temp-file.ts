import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { openStore } from '../src/index.ts'

/** Runs `use` on a new state.db with one session `s`, and removes it. */
export async function withTempFile<T>(use: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'hermes-bench-'))
  try {
    const file = path.join(folder, 'state.db')
    const store = await openStore({ path: file })
    await store.sessions.ensure('s', { source: 'bench' })
    await store.close()
    return await use(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sixty words of a vocabulary of some thousand, the same for the same number. */
export function textOf(n: number): string {
  let state = (n + 1) * 2_654_435_761
  return Array.from({ length: 60 }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    // Squared, so that some words are much more common than others.
    return wordOf(Math.floor((state / 2_147_483_648) ** 2 * 4_000))
  }).join(' ')
}

const SYLLABLES = ['ka', 'no', 'ti', 're', 'sol', 'mun', 'da', 'vi', 'per', 'lo', 'shu', 'en']

function wordOf(n: number): string {
  return [n % 12, Math.floor(n / 12) % 12, Math.floor(n / 144) % 12, Math.floor(n / 1728)]
    .map((k) => SYLLABLES[k])
    .join('')
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}

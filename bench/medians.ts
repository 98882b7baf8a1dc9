import { median } from './temp-file.ts'

/** Each pair of calls is repeated for about this long, at least eleven times. */
const BUDGET_MS = 1_500

/** Milliseconds of one call of each, the median; in turns, so that what else the machine does hits both. */
export async function medians(
  ours: () => Promise<unknown>,
  raw: () => unknown,
): Promise<[ours: number, raw: number]> {
  const times: [number[], number[]] = [[], []]
  const end = performance.now() + BUDGET_MS
  while (performance.now() < end || times[0].length < 11) {
    let start = performance.now()
    await ours()
    times[0].push(performance.now() - start)
    start = performance.now()
    raw()
    times[1].push(performance.now() - start)
  }
  return [median(times[0]), median(times[1])]
}

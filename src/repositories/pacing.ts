// Taken now, so that an application that replaces timers in its tests does not stop a long write.
const { setImmediate: nextTurn } = globalThis

const ROWS_PER_TURN = 50

/** Gives the rest of the process a turn after every so many rows of a long write. */
export async function pauseAfter(rows: number): Promise<void> {
  if (rows % ROWS_PER_TURN !== 0) return
  await new Promise<void>((resume) => void nextTurn(resume))
}
